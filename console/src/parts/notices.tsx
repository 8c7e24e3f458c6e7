// What has become of a change, for some seconds at the edge of the page. Screen readers say it.

import { useEffect, useState } from "preact/hooks";
import { type Notice, onNotice } from "../data/notice";

/** The place of notices. */
export function Notices() {
  const [notice, setNotice] = useState<Notice>();
  useEffect(() => onNotice(setNotice), []);
  return (
    <div class="notices" role="status" aria-live="polite">
      {notice && <p key={notice.number}>{notice.text}</p>}
    </div>
  );
}
