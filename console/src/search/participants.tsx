// Search of participants: by id or name, state, type and currency.

import { pages } from "../data/api";
import { instant } from "../data/format";
import type { Participant } from "../data/kinds";
import { link } from "../data/router";
import { participantTone } from "../pages/participants";
import { Badge, Time } from "../parts/basics";
import { words } from "../words";
import { choices, type Fields, FOUND_MAX, type Kind } from "./kind";

const w = words.participants;
const t = words.transfers;

/** Whether a participant is one that is searched. */
export function fitsParticipant(one: Participant, fields: Fields): boolean {
  const { text = "", state = "", currency = "" } = fields;
  return (
    `${one.id} ${one.name}`.toLowerCase().includes(text.trim().toLowerCase()) &&
    (state === "" || one.state === state) &&
    (currency === "" || one.accounts.some((account) => account.currency === currency))
  );
}

/** Participants. */
export const PARTICIPANTS: Kind<Participant> = {
  begin: {},
  fields: () => [
    { name: "text", label: words.search.idOrName },
    { name: "state", label: t.state, options: choices(t.anyState, w.states) },
    { name: "currency", label: t.currency, pattern: "[A-Z]{3}", small: true },
  ],
  find: async (fields, signal, progress) => {
    const { items, more } = await pages<Participant>("/participants?limit=1000", FOUND_MAX, signal);
    progress(items.filter((one) => fitsParticipant(one, fields)), items.length);
    return more;
  },
  columns: [
    { head: w.id, cell: (one) => <a href={link("participants", one.id)}>{one.id}</a> },
    { head: w.name, cell: (one) => one.name, wide: true },
    { head: w.type, cell: (one) => one.type },
    { head: w.state, cell: (one) => <Badge tone={participantTone(one.state)}>{w.states[one.state] ?? one.state}</Badge> },
    { head: w.accounts, cell: (one) => one.accounts.map((account) => account.currency).join(", ") || words.none },
    { head: w.changed, cell: (one) => <Time ms={one.updatedAt} /> },
  ],
  csv: [
    ["id", (one) => one.id],
    ["name", (one) => one.name],
    ["type", (one) => one.type],
    ["state", (one) => one.state],
    ["currencies", (one) => one.accounts.map((account) => account.currency).join(" ")],
    ["changed (UTC)", (one) => instant(one.updatedAt)],
  ],
};
