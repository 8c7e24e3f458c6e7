// Releases, and plans that officers sign.

import { get } from "../data/api";
import { useAsk } from "../data/ask";
import { type Ahead, calendar, comesLater } from "../data/calendar";
import type { Release, ShownRelease } from "../data/kinds";
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
  if (comesLater(one)) return [w.later, "warn"];
  return one.wasCurrent ? [w.earlier, "quiet"] : [w.never, "bad"];
}

/** The page. */
export function Releases() {
  const isAdmin = useRole("admin");
  const releases = useAsk("releases", (signal) => get<Release[]>("/releases", { signal }), 5000);
  const plans = useAsk("plans", (signal) => get<Plan[]>("/plans", { signal }), 5000);
  return (
    <>
      <Head title={w.title} at={releases.at}>
        <a class="button" href={link("releases", "backtests")}>
          {words.backtest.title}
        </a>
        {isAdmin && (
          <a class="button primary" href={link("releases", "new")}>
            {words.draft.make}
          </a>
        )}
      </Head>
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
      <Calendar releases={releases.data} again={releases.again} />
      <Section title={w.plans}>
        <Shown of={plans}>
          {(all) =>
            all.length === 0 ? (
              <Empty title={w.noPlans} hint={w.noPlansHint} />
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

/** What is ahead, in words. */
function told(one: Ahead): string {
  switch (one.kind) {
    case "release":
      return w.events.release(one.release, one.note);
    case "begins":
    case "ends":
      return w.events[one.kind](one.rule, one.step);
    default:
      return w.events[one.kind](one.rule, one.step, one.setting, JSON.stringify(one.value));
  }
}

/** The releases and dates of rules that are ahead. */
function Calendar({ releases, again }: { releases: Release[] | undefined; again: () => void }) {
  const isAdmin = useRole("admin");
  const current = releases?.find((one) => one.current)?.number;
  const asked = useAsk(current === undefined ? undefined : String(current), (signal) => get<ShownRelease>(`/releases/${current}`, { signal }));
  return (
    <Section title={w.ahead}>
      <Shown of={asked}>
        {(release) => {
          const all = ahead(releases ?? [], release);
          if (all.length === 0) return <Empty title={w.noAhead} hint={w.noAheadHint} />;
          return (
            <Table
              label={w.ahead}
              rows={all}
              columns={[
                { head: w.when, cell: (one) => <Time ms={one.at} /> },
                { head: w.what, cell: (one) => (one.kind === "release" ? <a href={link("releases", String(one.release))}>{told(one)}</a> : told(one)), wide: true },
                {
                  head: words.table.acts,
                  quiet: true,
                  cell: (one) => (isAdmin && one.kind === "release" ? <Withdraw number={one.release} again={again} /> : null),
                },
              ]}
            />
          );
        }}
      </Shown>
    </Section>
  );
}

function ahead(releases: Release[], current: ShownRelease): Ahead[] {
  try {
    return calendar(releases, current, Date.now());
  } catch {
    // The text is no TOML that this page reads.
    return calendar(releases, undefined, Date.now());
  }
}

/** Takes back a release that comes into force later. */
export function Withdraw({ number, again }: { number: number; again: () => void }) {
  return (
    <Action
      label={w.withdraw}
      text={w.withdrawText(number)}
      danger
      reason={words.action.reason}
      needsReason
      done={w.withdrawDone(number)}
      after={again}
      change={(note) => ({ method: "POST", path: `/releases/${number}/withdraw`, body: { note } })}
    />
  );
}
