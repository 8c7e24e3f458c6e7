// A plan of a release: what it has, who has signed it, and its application.

import { get } from "../data/api";
import { useAsk } from "../data/ask";
import { useRole, useSession } from "../data/session";
import { Action } from "../parts/action";
import { Badge, Empty, Facts, Head, Section, Shown, Time } from "../parts/basics";
import { Table } from "../parts/table";
import { words } from "../words";

const w = words.releases;

/** A plan, with its text where one was asked for. */
export type Plan = {
  digest: string;
  maker: string;
  made: number;
  expires: number;
  note?: string;
  from: number;
  state: string;
  needed: number;
  signatures: { officer: string; kind: string; at: number; counts: boolean }[];
  content?: string;
};

/** A plan's text, for people. */
function readable(content: string): string {
  try {
    return JSON.stringify(JSON.parse(content), null, 2);
  } catch {
    return content;
  }
}

/** The page. */
export function PlanPage({ digest }: { digest: string }) {
  const isAdmin = useRole("admin");
  const isChecker = useRole("checker");
  const { person } = useSession();
  const at = `/plans/${encodeURIComponent(digest)}`;
  const asked = useAsk(digest, (signal) => get<Plan>(at, { signal }), 5000);
  return (
    <>
      <Head title={w.plan} hint={digest} at={asked.at} />
      <Shown of={asked}>
        {(plan) => (
          <>
            <div class="panel summary">
              <Facts
                of={[
                  [w.state, <Badge tone={plan.state === "READY" ? "good" : "quiet"}>{w.planStates[plan.state] ?? plan.state}</Badge>],
                  [w.made, <Time ms={plan.made} />],
                  [w.maker, plan.maker],
                  [w.insteadOf, plan.from],
                  [w.expires, <Time ms={plan.expires} />],
                  [w.note, plan.note || words.none],
                ]}
              />
              <div class="tools">
                {isChecker && plan.state === "WAITING" && plan.maker !== person && (
                  <Action
                    label={w.approve}
                    text={w.approvePlanText}
                    reason={words.action.reason}
                    done={w.success}
                    after={asked.again}
                    change={(note) => ({ method: "POST", path: `${at}/approve`, body: { note } })}
                  />
                )}
                {isAdmin && plan.state === "READY" && (
                  <Action
                    label={w.apply}
                    text={w.applyText}
                    reason={words.action.reason}
                    done={w.applyDone}
                    after={asked.again}
                    change={(note) => ({ method: "POST", path: `${at}/apply`, body: { note } })}
                  />
                )}
              </div>
            </div>
            <Section title={w.signatures} hint={w.signed(plan.signatures.filter((one) => one.counts).length, plan.needed)}>
              {plan.signatures.length === 0 ? (
                <Empty title={w.noSignatures} hint={w.noSignaturesHint} />
              ) : (
                <Table
                  label={w.signatures}
                  rows={plan.signatures}
                  columns={[
                    { head: w.officer, cell: (one) => one.officer },
                    { head: w.kind, cell: (one) => one.kind },
                    { head: w.made, cell: (one) => <Time ms={one.at} /> },
                    { head: w.state, cell: (one) => <Badge tone={one.counts ? "good" : "bad"}>{one.counts ? w.counts : w.countsNot}</Badge> },
                  ]}
                />
              )}
            </Section>
            {plan.content !== undefined && (
              <Section title={w.content}>
                <pre class="code" tabIndex={0}>
                  {readable(plan.content)}
                </pre>
              </Section>
            )}
          </>
        )}
      </Shown>
    </>
  );
}
