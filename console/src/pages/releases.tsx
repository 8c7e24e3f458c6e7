// Releases, and plans that officers sign.

import { get } from "../data/api";
import { useAsk } from "../data/ask";
import type { Release } from "../data/kinds";
import { link } from "../data/router";
import { useRole } from "../data/session";
import { Action } from "../parts/action";
import { Badge, Digest, Empty, Head, Section, Shown, Time, type Tone } from "../parts/basics";
import { Table } from "../parts/table";
import { words } from "../words";
import type { Plan } from "./plan";

const w = words.releases;

/** How a release stands. */
export function standing(one: Release): [string, Tone] {
  if (one.current) return [w.current, "good"];
  if (one.waits) return [w.waits, "warn"];
  return one.wasCurrent ? [w.earlier, "quiet"] : [w.never, "bad"];
}

/** The page. */
export function Releases() {
  const isAdmin = useRole("admin");
  const releases = useAsk("releases", (signal) => get<Release[]>("/releases", { signal }), 5000);
  const plans = useAsk("plans", (signal) => get<Plan[]>("/plans", { signal }), 5000);
  return (
    <>
      <Head title={w.title} at={releases.at} />
      <Shown of={releases}>
        {(all) => (
          <Table
            label={w.title}
            rows={[...all].reverse()}
            columns={[
              { head: w.number, number: true, cell: (one) => <a href={link("releases", String(one.number))}>{one.number}</a> },
              {
                head: w.state,
                cell: (one) => {
                  const [text, tone] = standing(one);
                  return <Badge tone={tone}>{text}</Badge>;
                },
              },
              { head: w.made, cell: (one) => <Time ms={one.createdAt} /> },
              { head: w.maker, cell: (one) => one.maker },
              { head: w.approver, cell: (one) => one.approver ?? words.none },
              { head: w.note, cell: (one) => one.note, wide: true },
            ]}
          />
        )}
      </Shown>
      <Section title={w.plans}>
        <Shown of={plans}>
          {(all) =>
            all.length === 0 ? (
              <Empty title={w.noPlans} />
            ) : (
              <Table
                label={w.plans}
                rows={all}
                columns={[
                  { head: w.plan, cell: (one) => <a href={link("releases", one.digest)}><Digest text={one.digest} /></a> },
                  { head: w.state, cell: (one) => <Badge tone={one.state === "READY" ? "good" : "quiet"}>{w.planStates[one.state] ?? one.state}</Badge> },
                  { head: w.made, cell: (one) => <Time ms={one.made} /> },
                  { head: w.maker, cell: (one) => one.maker },
                  { head: w.note, cell: (one) => one.note ?? "", wide: true },
                  { head: words.table.signatures, cell: (one) => w.signed(one.signatures.filter((s) => s.counts).length, one.needed) },
                  {
                    head: words.table.acts,
                    quiet: true,
                    cell: (one) =>
                      isAdmin && one.state === "READY" ? (
                        <Action
                          label={w.apply}
                          text={w.applyText}
                          reason={words.action.reason}
                          done={w.applyDone}
                          after={() => {
                            plans.again();
                            releases.again();
                          }}
                          change={(note) => ({ method: "POST", path: `/plans/${encodeURIComponent(one.digest)}/apply`, body: { note } })}
                        />
                      ) : null,
                  },
                ]}
              />
            )
          }
        </Shown>
      </Section>
    </>
  );
}
