// An OpenID provider for tests: oidc-provider with its interactions for development. Every name signs in with every
// password, and is its own subject.
//
// Arguments: the folder of its packages, and the client's metadata as JSON. It prints its issuer's URL when it listens, and
// ends when its standard input is closed.

import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, client] = process.argv.slice(2);
const require = createRequire(join(folder, 'package.json'));
const { default: Provider } = await import(pathToFileURL(require.resolve('oidc-provider')));

const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [JSON.parse(client)],
    pkce: { required: () => true },
  });
  server.on('request', provider.callback());
  console.log(issuer);
});
process.stdin.resume();
process.stdin.on('end', () => process.exit());
