// The forms of the API's answers, as far as pages use them. The documents at /openapi describe them in full.

export type Money = { currency: string; amount: string };

export type Transfer = {
  transferId: string;
  payerFsp: string;
  payeeFsp: string;
  amount: Money;
  state: string;
  expiration: number;
  beganAt: number | null;
  endedAt: number | null;
  rejection: string | null;
  reason: Record<string, unknown> | null;
  settlementModel?: string;
  archived?: string | null;
  story?: { at: number; state?: string; what: string }[];
};

export type Turn = {
  turn: number;
  cause: number | null;
  at: number;
  took_us: number;
  release: number;
  kind: string;
  component: string;
  function: string;
  trace?: string | null;
  subjects: string[];
  steps: Record<string, Record<string, unknown>>[];
  ended: unknown;
};

export type Story = { subject: string; turns: Turn[]; earlier: number };

export type Receipt = {
  id: number;
  at: number;
  receipt?: {
    step: string;
    rule: string;
    ruleVersion: string;
    digest: string;
    settingsDigest: string;
    release: number;
    subject: string;
    input: Record<string, unknown>;
    inputDigest: string;
    verdict: { outcome: string; violations?: { code: string; message: string }[] };
    fuel: number;
    fuelLimit: number;
    tookUs: number;
    flagged: boolean;
    decided: boolean;
  };
  again?: { same: boolean; verdict: string; fuel: number };
};

export type Account = {
  accountId: string;
  currency: string;
  status: string;
  limit?: { type: string; value: Money };
  threshold?: Money;
};

export type Participant = {
  id: string;
  name: string;
  type: string;
  state: string;
  version: number;
  endpoints: { type: string; value: string }[];
  sourceAddresses?: string[];
  accounts: Account[];
  createdAt: number;
  updatedAt: number;
  /** The release that has added it, while that is not complete. */
  waitsFor?: number;
  request?: Request;
  changes?: ChangeOf[];
  openRequests?: string[];
};

/** An entry of a participant's history. */
export type ChangeOf = {
  n: number;
  at: number;
  kind: string;
  state: string;
  by: unknown;
  asked?: { payload: unknown; reason: string; note?: string; failure?: string };
  before: unknown;
  after: unknown;
  previous: string;
  hash: string;
};

export type Certificate = {
  serial: string;
  certificate: string;
  notAfter: number;
  key: string;
  issuedAt: number;
  revocation?: { by: string; at: number; reason: string };
};

/** An application, with which a participant asks for access tokens. */
export type Application = {
  id: string;
  participant: string;
  label: string;
  state: string;
  maker: string;
  createdAt: number;
  decidedBy?: string;
  decidedAt?: number;
};

export type Cover = {
  accountId: string;
  available: Money;
  limit?: { value: Money };
  liquidityCover: Money;
  netCredit: Money;
  netDebit: Money;
  position: Money;
  threshold?: Money;
  status: string;
  /** Settled funds by model, the default one first. */
  settlement: { settlementModel?: string; available: Money; reserved: Money }[];
};

export type Request = {
  id: string;
  kind: string;
  payload: Record<string, unknown>;
  participant: string;
  target?: string;
  basedOn: unknown;
  state: string;
  reason: string;
  maker: string;
  madeAt: number;
  checker?: string;
  decidedAt?: number;
  note?: string;
  version: number;
};

export type Release = {
  number: number;
  digest: string;
  createdAt: number;
  note: string;
  current: boolean;
  wasCurrent: boolean;
  maker: string;
  approver?: string;
  waits: boolean;
  scheduled?: { from: number; person: string; at: number; withdrawnBy?: string };
  activations?: { at: number; person: string; note?: string; before: number; done: boolean }[];
};

/** A scheme, as a release has it. */
export type Document = { text: string; digests: Record<string, Record<string, string>> };

export type ShownRelease = Release & { document: Document };

/** What a change has done, or would do. */
export type Applied = {
  number: number;
  digest: string;
  changes: string[];
  needsApproval?: string[];
  calendar?: string[];
  effectiveFrom?: number;
  unchanged?: boolean;
  /** How many officers must sign a plan for it. */
  officers?: number;
};

export type Suspension = Record<string, any> & { number?: number; rule?: string };

export type DeadLetter = {
  id: number;
  component: string;
  interface: string;
  subjects: string[];
  attempts: number;
  error: string;
  at: number;
};

export type Destination = {
  destination: string;
  circuit: string;
  failures: number;
  triedAgainInMs: number;
  requests: number;
  underWay: number;
  lastFailure: string | null;
  onDisk: number;
};

export type Entry = {
  id: number;
  at: number;
  person: string;
  operator: string;
  action: string;
  about: string;
  note?: string;
  outcome: string;
  reason?: string;
};

export type LedgerEntry = {
  id: string;
  debitAccount: string;
  creditAccount: string;
  amount: string;
  currency: string;
  scale: number;
  entryType: string;
  postedAt: number;
};

export type LedgerAccount = {
  id: string;
  participant: string;
  accountType: string;
  currency: string;
  scale: number;
  state: string;
  debitBalance: string;
  creditBalance: string;
  debitLimit: string;
};

export type Kept<T> = { id: string; version: number; body: T };
