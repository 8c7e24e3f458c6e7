// A change that the reader asks for: a button, a dialog that says what will be, why, and what has become of it.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Change, beginConfirmation, isConfirmed, Refusal, send } from "../data/api";
import { say } from "../data/notice";
import { words } from "../words";

/** How often the host is asked whether a passkey has confirmed. */
const LOOK_MS = 1500;

type Props<T> = {
  label: string;
  text: string;
  /** The change, with the reader's reason. */
  change: (reason: string) => Change;
  done: string;
  after: () => void;
  /** Takes the host's answer, where it matters. */
  answered?: (answer: unknown) => void;
  /** The name of the field for the reason. Without it there is no field. */
  reason?: string;
  /** Whether there must be a reason. */
  needsReason?: boolean;
  danger?: boolean;
  /** Whether the same is to be asked again, after this answer: the host does so much at a time. */
  again?: (answer: unknown) => boolean;
  children?: ComponentChildren;
  /** What the host has answered, for the reader: the dialog stays open until it is closed. */
  answer?: (answer: T) => ComponentChildren;
  /** More about a refusal than its words. */
  refused?: (refusal: Refusal) => ComponentChildren;
};

/** A change that waits for its passkey. */
type Confirming = { id: string; page?: string; change: Change };

/** A button that asks for a change, after a dialog. */
export function Action<T = unknown>(props: Props<T>) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" class={props.danger ? "danger" : ""} onClick={() => setOpen(true)}>
        {props.label}
      </button>
      {isOpen && <Dialog {...props} close={() => setOpen(false)} />}
    </>
  );
}

function Dialog<T>(props: Props<T> & { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [reason, setReason] = useState("");
  const [error, setError] = useState<Error>();
  const [isSent, setSent] = useState(false);
  const [confirming, setConfirming] = useState<Confirming>();
  const [answered, setAnswered] = useState<T>();
  useEffect(() => dialog.current?.showModal(), []);
  const close = (): void => {
    props.close();
    if (answered !== undefined || isOutdated(error)) props.after();
  };
  const finish = (answer: T | undefined): void => {
    say(props.done);
    setConfirming(undefined);
    if (props.answer && answer !== undefined) {
      setAnswered(answer);
      return;
    }
    props.close();
    props.after();
    props.answered?.(answer);
  };
  const go = async (change: Change, confirmation?: string): Promise<void> => {
    setSent(true);
    setError(undefined);
    try {
      let answer = await send<T>(change, confirmation);
      while (props.again?.(answer)) answer = await send<T>(change);
      finish(answer);
    } catch (failed) {
      setSent(false);
      setConfirming(undefined);
      if (failed instanceof Refusal && failed.kind === "confirmation-required" && !confirmation) {
        await beginConfirmation(change).then((begun) => setConfirming({ ...begun, change }), setError);
      } else {
        setError(failed as Error);
      }
    }
  };
  useEffect(() => {
    if (!confirming) return;
    const timer = setInterval(() => {
      isConfirmed(confirming.id).then(
        (is) => {
          if (!is) return;
          clearInterval(timer);
          void go(confirming.change, confirming.id);
        },
        (failed) => {
          setConfirming(undefined);
          setError(failed as Error);
        },
      );
    }, LOOK_MS);
    return () => clearInterval(timer);
  }, [confirming]);
  const submit = (event: Event): void => {
    event.preventDefault();
    void go(props.change(reason.trim()));
  };
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="dialog-title">
      <form onSubmit={submit}>
        <h2 id="dialog-title">{props.label}</h2>
        {answered !== undefined ? (
          <div class="answer">{props.answer?.(answered)}</div>
        ) : (
          <>
            <p>{props.text}</p>
            {/* What is confirmed with a passkey does not change any more. */}
            <fieldset class="plain" disabled={confirming !== undefined}>
              {props.children}
              {props.reason && (
                <label class="field">
                  <span>{props.reason}</span>
                  <input
                    name="reason"
                    value={reason}
                    required={props.needsReason ?? false}
                    maxLength={512}
                    autocomplete="off"
                    onInput={(event) => setReason(event.currentTarget.value)}
                  />
                  <small>{words.action.reasonHint}</small>
                </label>
              )}
            </fieldset>
          </>
        )}
        {error && <Refused error={error} more={props.refused} />}
        {confirming && <Passkey page={confirming.page} />}
        <div class="buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            {answered !== undefined ? words.state.close : words.action.cancel}
          </button>
          {!confirming && answered === undefined && (
            <button type="submit" class={props.danger ? "danger primary" : "primary"} disabled={isSent}>
              {props.label}
            </button>
          )}
        </div>
      </form>
    </dialog>
  );
}

/** Whether the change was about something that has changed since the page read it. */
function isOutdated(error: Error | undefined): boolean {
  return error instanceof Refusal && error.status === 412;
}

function Refused({ error, more }: { error: Error; more: ((refusal: Refusal) => ComponentChildren) | undefined }) {
  const refusal = error instanceof Refusal ? error : undefined;
  return (
    <div class="problem" role="alert">
      <p class="problem-title">{words.problem.refused}</p>
      <p>{error.message}</p>
      {refusal?.problems.map((one) => <p>{one}</p>)}
      {refusal && more?.(refusal)}
      {isOutdated(refusal) && <p>{words.action.outdated}</p>}
      {refusal?.kind === "no-passkey" && (
        <p>
          <a href="/passkeys" target="_blank" rel="noopener noreferrer">
            {words.action.passkeyRegister}
          </a>
        </p>
      )}
      {refusal && refusal.status >= 400 && refusal.status < 500 && <p class="hint">{words.problem.nothing}</p>}
    </div>
  );
}

function Passkey({ page }: { page: string | undefined }) {
  return (
    <div class="passkey" role="status">
      <p>{words.action.passkeyHint}</p>
      {page && (
        <a href={page} target="_blank" rel="noopener noreferrer">
          {words.action.passkeyOpen}
        </a>
      )}
      <p class="hint">{words.action.passkeyWaits}</p>
    </div>
  );
}
