// A card of a request that waits: what would change, who asks, and who may decide.

import { useSession } from "../data/session";
import { link } from "../data/router";
import type { Decision, Waiting } from "../data/waiting";
import { Action } from "../parts/action";
import { Badge, Time } from "../parts/basics";
import { May } from "../parts/may";
import { Sides } from "../parts/sides";
import { words } from "../words";
import { useFingerprint } from "./certificates";

const w = words.requests;

/** The card. `isSaid`: the page has said who may decide. */
export function Waits({ of, again, isSaid }: { of: Waiting; again: () => void; isSaid?: boolean }) {
  const { person } = useSession();
  const kind = w.kinds[of.kind] ?? of.kind;
  const isOwn = of.maker === person;
  return (
    <article class="card request" aria-label={`${kind}, ${of.participant}`}>
      <header class="section-head">
        <h2>{kind}</h2>
        <a href={link("participants", of.participant)}>{of.participant}</a>
        {of.target && of.target.length <= 8 && <Badge tone="quiet">{of.target}</Badge>}
      </header>
      {of.certificateRequest === undefined ? <Sides now={of.now} then={of.then} /> : <Key pem={of.certificateRequest} />}
      {of.reason && <p class="reason">{of.reason}</p>}
      <p class="hint">
        {w.maker} <strong>{of.maker}</strong>, <Time ms={of.madeAt} /> {words.utc}
      </p>
      {isOwn ? (
        <p class="hint may">{w.own}</p>
      ) : (
        <May roles={["checker"]} to={w.toDecide} isSaid={isSaid}>
          <div class="tools">
            <Decide of={of} kind={kind} decision="APPROVE" again={again} />
            <Decide of={of} kind={kind} decision="REJECT" again={again} />
          </div>
        </May>
      )}
    </article>
  );
}

function Decide({ of, kind, decision, again }: { of: Waiting; kind: string; decision: Decision; again: () => void }) {
  const isApproval = decision === "APPROVE";
  return (
    <Action
      label={isApproval ? w.approve : w.reject}
      text={(isApproval ? w.approveText : w.rejectText)(kind, of.participant)}
      danger={!isApproval}
      {...(of.takesNote ? { reason: w.note } : {})}
      done={w.decided[decision]}
      after={again}
      change={(note) => of.decide(decision, note)}
    />
  );
}

/** The key of an order, which the checker compares with the participant. */
function Key({ pem }: { pem: string }) {
  const found = useFingerprint(pem);
  return (
    <div class="sides one">
      <div>
        <h3>{words.participants.fingerprint}</h3>
        <p>
          <code class="whole">{found ?? w.noFingerprint}</code>
        </p>
        <p class="hint">{w.compareFingerprint}</p>
      </div>
    </div>
  );
}
