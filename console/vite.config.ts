// How the console is built: flat files with digests in their names, compressed copies beside them, and a limit of size.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

// The most that a browser loads for the whole console, compressed, in bytes.
const COMPRESSED_BYTES_MAX = 350_000;

// Compresses every file, and refuses a console that has grown too large.
function compressed(folder: string): Plugin {
  return {
    name: "compressed",
    apply: "build",
    closeBundle() {
      let total = 0;
      for (const name of readdirSync(folder)) {
        if (name.startsWith(".") || name.endsWith(".gz")) continue;
        const small = gzipSync(readFileSync(join(folder, name)), { level: 9 });
        total += small.length;
        writeFileSync(join(folder, `${name}.gz`), small);
      }
      if (total > COMPRESSED_BYTES_MAX) {
        throw new Error(`the console has ${total} bytes compressed; ${COMPRESSED_BYTES_MAX} are the most`);
      }
      console.log(`the console: ${total} bytes compressed, of at most ${COMPRESSED_BYTES_MAX}`);
    },
  };
}

// The packages whose code the console has in it.
const PACKAGES = ["preact", "smol-toml", "@dagrejs/dagre", "@dagrejs/graphlib"];

// Puts the licences of those packages beside the console, as they ask for.
function licences(): Plugin {
  return {
    name: "licences",
    apply: "build",
    generateBundle() {
      const texts = PACKAGES.map((name) => `${name}\n\n${readFileSync(`node_modules/${name}/LICENSE`, "utf8")}`);
      this.emitFile({ type: "asset", name: "licences.txt", source: texts.join("\n\n") });
    },
  };
}

const folder = process.env["RIALTO_CONSOLE_OUT"] ?? "../target/console";
const host = process.env["RIALTO_HOST"] ?? "http://127.0.0.1:4002";
const files = "[name]-[hash]";

export default defineConfig({
  base: "/console/",
  // `npx vite` serves the console at /console/ and passes all other requests on to a running host.
  server: { proxy: { "^/(?!console)": host } },
  build: {
    outDir: folder,
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: { entryFileNames: `${files}.js`, chunkFileNames: `${files}.js`, assetFileNames: `${files}[extname]` },
    },
  },
  plugins: [licences(), compressed(folder)],
  test: { include: ["tests/**/*.test.ts"] },
} as Parameters<typeof defineConfig>[0]);
