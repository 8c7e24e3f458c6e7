// The page of a sign-in: by the provider where the host has one, and by a token.

import { useEffect, useState } from "preact/hooks";
import { exchange, Refusal } from "../data/api";
import { words } from "../words";

const w = words.sign;

/** Whether people sign in with a provider here. The host has written it into the page. */
const hasProvider = (): boolean => document.documentElement.dataset["signIn"] === "provider";

/** The page. */
export function SignIn({ ended, look }: { ended: boolean; look: () => Promise<Error | undefined> }) {
  const [token, setToken] = useState("");
  const [wrong, setWrong] = useState<string>();
  const [isSent, setSent] = useState(false);
  useEffect(() => {
    document.title = words.title(w.title);
  }, []);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setSent(true);
    const failed = await exchange(token.trim()).then(look, (error: Error) => error);
    if (failed) {
      setWrong(failed instanceof Refusal && failed.status === 401 ? w.wrong : failed.message);
      setSent(false);
    }
  };
  const back = encodeURIComponent(`/console${location.hash}`);
  return (
    <main class="sign-in" id="main">
      <p class="brand">
        <strong>{words.product}</strong> <span>{words.console}</span>
      </p>
      <h1>{w.title}</h1>
      {ended && (
        <p class="stale" role="status">
          {w.ended}
        </p>
      )}
      {hasProvider() && (
        <>
          <p>
            <a class="button primary" href={`/sign-in?return=${back}`}>
              {w.provider}
            </a>
          </p>
          <p class="hint">{w.providerHint}</p>
          <h2>{w.or}</h2>
        </>
      )}
      <form onSubmit={(event) => void submit(event)}>
        <label class="field">
          <span>{w.token}</span>
          <input
            type="password"
            name="token"
            value={token}
            required
            autocomplete="off"
            spellcheck={false}
            aria-describedby="token-hint"
            aria-invalid={wrong !== undefined}
            onInput={(event) => {
              setToken(event.currentTarget.value);
              setWrong(undefined);
            }}
          />
        </label>
        {wrong && (
          <p class="problem" role="alert">
            {wrong}
          </p>
        )}
        <p class="hint" id="token-hint">
          {w.hint} {w.exchanged}
        </p>
        <button type="submit" class={hasProvider() ? "" : "primary"} disabled={isSent}>
          {w.submit}
        </button>
      </form>
    </main>
  );
}
