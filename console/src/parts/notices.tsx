// What has become of a change, for some seconds at the edge of the page. Screen readers say it.

import { useEffect, useState } from "preact/hooks";

/** How long a notice stays. */
const STAYS_MS = 6000;

let tell: (text: string) => void = () => undefined;

/** Say something at the edge of the page. */
export function say(text: string): void {
  tell(text);
}

/** The place of notices. */
export function Notices() {
  const [text, setText] = useState("");
  useEffect(() => {
    tell = setText;
  }, []);
  useEffect(() => {
    if (!text) return;
    const timer = setTimeout(() => setText(""), STAYS_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <div class="notices" role="status" aria-live="polite">
      {text && <p>{text}</p>}
    </div>
  );
}
