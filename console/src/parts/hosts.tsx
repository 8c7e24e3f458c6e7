// The hosts that share a scheme's database, and which of them serves.

import { get } from "../data/api";
import { useAsk } from "../data/ask";
import { count } from "../data/format";
import { words } from "../words";
import { Badge, Section, Shown, Time, type Tone } from "./basics";
import { Table } from "./table";

const w = words.hosts;
const EVERY_MS = 2000;
/** From this difference on, a host's clock is a warning. */
const CLOCK_APART_MS = 1000;

export type Host = {
  id: string;
  name: string;
  state: "SERVING" | "STANDBY" | "PASSING" | "GONE";
  isThis: boolean;
  version: string;
  operators: string;
  release: number;
  clockAheadMs: number;
  started: number;
  seenAgoMs: number;
};
type Partition = { partition: number; owner?: string; epoch: number; taken?: number };
export type Cluster = { partitions: Partition[]; hosts: Host[] };

/** What operators should know of the hosts before anything else; nothing if all is well. */
export function concern({ partitions, hosts }: Cluster): string | undefined {
  if (partitions.some((one) => one.owner === undefined)) return w.nobody;
  if (!hosts.some((one) => one.state === "STANDBY")) return w.noStandby;
  const owners = hosts.filter((one) => one.state === "SERVING");
  const behind = hosts.some((one) => one.state === "STANDBY" && owners.some((owner) => one.release < owner.release));
  return behind ? w.behind : undefined;
}

function tone(host: Host): Tone {
  return host.state === "GONE" ? "bad" : host.state === "SERVING" ? "good" : "plain";
}

/** The section; nothing for a scheme in a folder, which has one host. */
export function Hosts() {
  const cluster = useAsk("cluster", (signal) => get<Cluster>("/cluster", { signal }), EVERY_MS);
  if (cluster.data?.partitions.length === 0) return null;
  return (
    <Section title={w.title} hint={w.hint}>
      <Shown of={cluster}>
        {(data) => {
          const concerned = concern(data);
          return (
            <>
              {concerned !== undefined && (
                <p class="warned" role="status">
                  {concerned}
                </p>
              )}
              {data.partitions.map((one) => (
                <p class="hint" key={one.partition}>
                  {w.partition(one.partition, data.hosts.find((host) => host.id === one.owner)?.name, count(one.epoch))} {one.taken !== undefined && <Time ms={one.taken} />}
                </p>
              ))}
              <Table
                label={w.title}
                rows={data.hosts}
                columns={[
                  { head: w.host, cell: (one) => (one.isThis ? w.thisOne(one.name) : one.name) },
                  { head: w.state, cell: (one) => <Badge tone={tone(one)}>{w.states[one.state] ?? one.state}</Badge> },
                  { head: w.address, cell: (one) => one.operators || words.none },
                  { head: w.version, cell: (one) => one.version },
                  { head: w.release, number: true, cell: (one) => (one.release === 0 ? words.none : count(one.release)) },
                  {
                    head: w.clock,
                    number: true,
                    cell: (one) => <Badge tone={Math.abs(one.clockAheadMs) >= CLOCK_APART_MS ? "warn" : "plain"}>{w.milliseconds(one.clockAheadMs)}</Badge>,
                  },
                  { head: w.seen, number: true, cell: (one) => w.ago(Math.round(one.seenAgoMs / 1000)) },
                  { head: w.started, cell: (one) => <Time ms={one.started} /> },
                ]}
              />
            </>
          );
        }}
      </Shown>
    </Section>
  );
}
