// Configuration: the settings of contexts, the names of secrets, keys and TLS files. No value of a secret is ever here.

import { get, pages, Refusal } from "../data/api";
import { useAsk } from "../data/ask";
import { Badge, Empty, Head, Section, Shown, Time, type Tone } from "../parts/basics";
import { Table } from "../parts/table";
import { words } from "../words";

const w = words.configuration;
/** The most that a list of the page has. */
const LISTED_MAX = 1000;

type Property = { description?: string; default?: unknown };
type Settings = {
  boundedContextId: string;
  schema: { properties?: Record<string, Property> } | null;
  values: Record<string, unknown>;
  changedAt: number;
};
type Secrets = { boundedContextId: string; secrets: { name: string; description: string; isSet: boolean; setBy?: string; setAt?: number; waiting?: unknown }[] };
type Key = { id: string; label: string; usage: string; algorithm: string; owner: string; provider: string; state: string; createdAt: number; notAfter?: number };
type TlsFile = { place: string; kind: string; expiresAt?: number; state: string };

/** What a context of the scheme lists; null where the scheme has no such context. */
function list<T>(ask: (signal: AbortSignal) => Promise<T[]>): (signal: AbortSignal) => Promise<T[] | null> {
  return async (signal) => {
    try {
      return await ask(signal);
    } catch (error) {
      if (error instanceof Refusal && error.status === 404) return null;
      throw error;
    }
  };
}

/** All items of a path, page by page. */
function all<T>(path: string): (signal: AbortSignal) => Promise<T[]> {
  return async (signal) => (await pages<T>(path, LISTED_MAX, signal)).items;
}

const tones: Record<string, Tone> = { ACTIVE: "good", VALID: "good", EXPIRES_SOON: "warn", EXPIRED: "bad", PENDING: "warn" };

function State({ of }: { of: string }) {
  return <Badge tone={tones[of] ?? "quiet"}>{of.toLowerCase().replaceAll("_", " ")}</Badge>;
}

/** The page. */
export function Configuration() {
  const settings = useAsk("settings", list(all<Settings>("/config/schemas")));
  const secrets = useAsk("secrets", list(all<Secrets>("/config/secrets")));
  const keys = useAsk("keys", list(all<Key>("/kms-keys")));
  const files = useAsk("tls", list(async (signal) => (await get<{ files: TlsFile[] }>("/ssl-terminate", { signal })).files));
  return (
    <>
      <Head title={w.title} at={settings.at} />
      <Section title={w.tls}>
        <Shown of={files}>{(found) => (found?.length ? <Files all={found} /> : <Empty title={w.noTls} hint={w.noTlsHint} />)}</Shown>
      </Section>
      <Section title={w.keys}>
        <Shown of={keys}>{(found) => (found?.length ? <Keys all={found} /> : <Empty title={w.noKeys} hint={w.noKeysHint} />)}</Shown>
      </Section>
      <Section title={w.secrets} hint={w.secretsHint}>
        <Shown of={secrets}>{(found) => (found?.length ? <Names all={found} /> : <Empty title={w.noSecrets} hint={w.noSecretsHint} />)}</Shown>
      </Section>
      <Section title={w.settings} hint={w.settingsHint}>
        <Shown of={settings}>{(found) => (found?.length ? <All of={found} /> : <Empty title={w.noSettings} hint={w.noSettingsHint} />)}</Shown>
      </Section>
    </>
  );
}

function Files({ all }: { all: TlsFile[] }) {
  return (
    <Table
      label={w.tls}
      rows={all}
      columns={[
        { head: w.place, cell: (one) => one.place },
        { head: words.table.kind, cell: (one) => w.kinds[one.kind] ?? one.kind },
        { head: w.state, cell: (one) => <State of={one.state} /> },
        { head: w.until, cell: (one) => <Time ms={one.expiresAt} /> },
      ]}
    />
  );
}

function Keys({ all }: { all: Key[] }) {
  return (
    <Table
      label={w.keys}
      rows={all}
      columns={[
        { head: w.label, cell: (one) => one.label },
        { head: w.algorithm, cell: (one) => one.algorithm },
        { head: w.usage, cell: (one) => one.usage },
        { head: w.owner, cell: (one) => one.owner },
        { head: w.provider, cell: (one) => one.provider },
        { head: w.state, cell: (one) => <State of={one.state} /> },
        { head: w.until, cell: (one) => <Time ms={one.notAfter} /> },
      ]}
    />
  );
}

function Names({ all }: { all: Secrets[] }) {
  const rows = all.flatMap((one) => one.secrets.map((secret) => ({ of: one.boundedContextId, ...secret })));
  return (
    <Table
      label={w.secrets}
      rows={rows}
      columns={[
        { head: w.context, cell: (one) => one.of },
        { head: w.name, cell: (one) => <code>{one.name}</code> },
        { head: w.state, cell: (one) => <Badge tone={one.isSet ? "good" : "warn"}>{one.isSet ? w.isSet : w.isNotSet}</Badge> },
        { head: w.by, cell: (one) => one.setBy ?? words.none },
        { head: w.since, cell: (one) => <Time ms={one.setAt} /> },
        { head: w.about, cell: (one) => one.description, wide: true },
      ]}
    />
  );
}

function All({ of }: { of: Settings[] }) {
  return (
    <div>
      {of.filter((one) => Object.keys(one.values).length > 0).map((one) => {
        const properties = one.schema?.properties ?? {};
        const rows = Object.entries(one.values).map(([name, value]) => ({ name, value, ...properties[name] }));
        return (
          <details class="receipt">
            <summary>
              <strong>{one.boundedContextId}</strong>
              <span class="hint">{w.count(rows.length)}</span>
              <span class="push">
                <Time ms={one.changedAt} />
              </span>
            </summary>
              <Table
                label={one.boundedContextId}
                rows={rows}
                columns={[
                  { head: w.name, cell: (row) => <code>{row.name}</code> },
                  { head: w.value, cell: (row) => <code class="whole">{JSON.stringify(row.value)}</code>, wide: true },
                  { head: w.unless, cell: (row) => (row.default === undefined ? words.none : <code class="whole">{JSON.stringify(row.default)}</code>), wide: true },
                  { head: w.about, cell: (row) => row.description ?? "", wide: true },
                ]}
              />
          </details>
        );
      })}
    </div>
  );
}
