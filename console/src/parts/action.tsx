// A change that the reader asks for: a button, a dialog that says what will be, why, and what has become of it.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Change, beginConfirmation, isConfirmed, Refusal, send } from "../data/api";
import { words } from "../words";
import { say } from "./notices";

/** How often the host is asked whether a passkey has confirmed. */
const LOOK_MS = 1500;

type Props = {
  label: string;
  text: string;
  /** The change, with the reader's reason. */
  change: (reason: string) => Change;
  done: string;
  after: () => void;
  /** The name of the field for the reason. Without it there is no field. */
  reason?: string;
  /** Whether there must be a reason. */
  needsReason?: boolean;
  danger?: boolean;
  children?: ComponentChildren;
};

/** A button that asks for a change, after a dialog. */
export function Action(props: Props) {
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

function Dialog(props: Props & { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [reason, setReason] = useState("");
  const [error, setError] = useState<Error>();
  const [isSent, setSent] = useState(false);
  const [page, setPage] = useState<{ id: string; page?: string }>();
  useEffect(() => dialog.current?.showModal(), []);
  const finish = (): void => {
    say(props.done);
    props.close();
    props.after();
  };
  const go = async (confirmation?: string): Promise<void> => {
    setSent(true);
    setError(undefined);
    const change = props.change(reason.trim());
    try {
      await send(change, confirmation);
      finish();
    } catch (failed) {
      setSent(false);
      setPage(undefined);
      if (failed instanceof Refusal && failed.kind === "confirmation-required" && !confirmation) {
        await beginConfirmation(change).then(setPage, setError);
      } else {
        setError(failed as Error);
      }
    }
  };
  useEffect(() => {
    if (!page) return;
    const timer = setInterval(() => {
      isConfirmed(page.id).then(
        (is) => {
          if (!is) return;
          clearInterval(timer);
          void go(page.id);
        },
        (failed) => {
          setPage(undefined);
          setError(failed as Error);
        },
      );
    }, LOOK_MS);
    return () => clearInterval(timer);
  }, [page]);
  const submit = (event: Event): void => {
    event.preventDefault();
    void go();
  };
  return (
    <dialog ref={dialog} onClose={props.close} aria-labelledby="dialog-title">
      <form onSubmit={submit}>
        <h2 id="dialog-title">{props.label}</h2>
        <p>{props.text}</p>
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
        {error && (
          <div class="problem" role="alert">
            <p class="problem-title">{words.problem.refused}</p>
            <p>{error.message}</p>
            {error instanceof Refusal && error.problems.map((one) => <p>{one}</p>)}
            {error instanceof Refusal && error.status >= 400 && error.status < 500 && <p class="hint">{words.problem.nothing}</p>}
          </div>
        )}
        {page && (
          <div class="passkey" role="status">
            <p>{words.action.passkeyHint}</p>
            {page.page && (
              <a href={page.page} target="_blank" rel="noopener noreferrer">
                {words.action.passkeyOpen}
              </a>
            )}
            <p class="hint">{words.action.passkeyWaits}</p>
          </div>
        )}
        <div class="buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            {words.action.cancel}
          </button>
          {!page && (
            <button type="submit" class={props.danger ? "danger primary" : "primary"} disabled={isSent}>
              {props.label}
            </button>
          )}
        </div>
      </form>
    </dialog>
  );
}
