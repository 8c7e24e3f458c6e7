// Support bundles without what names a person.
//
// 1. Members that name people are masked whole, in JSON and in JSON within texts, such as the bodies of messages.
// 2. Identifiers of parties are masked in addresses and subjects.
// 3. What was masked so is masked wherever else it stands, also in texts in Base64.

/** What stands in the place of a masked text. */
export const MASKED = "•••";

/** Members that name a person, or may. They are compared without case, hyphens and underscores. */
const PERSONAL = new Set(
  [
    "identifier",
    "partyIdentifier",
    "partySubIdOrType",
    "subIdOrType",
    "name",
    "personalInfo",
    "complexName",
    "firstName",
    "middleName",
    "lastName",
    "merchantName",
    "displayName",
    "dateOfBirth",
    "placeOfBirth",
    "address",
    "email",
    "phoneNumber",
    "note",
    "extensionList",
    "extensions",
    "geoCode",
    "latitude",
    "longitude",
    "supportingData",
    "ilpPacket",
    "kycInformation",
    // ISO 20022.
    "nm",
    "pstlAdr",
    "ctctDtls",
    "prvtId",
    "rmtInf",
  ].map(plain),
);
/** Headers whose value has an address in Base64, or a secret. */
const HEADERS = new Set(["fspiop-signature", "authorization", "cookie", "set-cookie", "x-forwarded-for"]);
/** Kinds of identifiers of parties, as addresses, subjects and ids of documents write them. */
const PARTY = /\b(MSISDN|EMAIL|PERSONAL_ID|BUSINESS|DEVICE|ACCOUNT_ID|IBAN|ALIAS|CONSENT|THIRD_PARTY_LINK|ACCOUNT|PASSPORT|NATIONAL_ID)\/+[^\s"'?#,;)\]}]+/g;
/** The shortest text that is masked wherever it stands. A shorter one would mask half of the bundle. */
const KNOWN_MIN = 4;
/** What may be Base64. */
const BASE64 = /^[A-Za-z0-9+/_-]{16,}={0,2}$/;
/** Parts of a text that may be Base64. */
const BASE64_PARTS = /[A-Za-z0-9+/_-]{16,}={0,2}/g;

/** A member's name without its spelling. */
function plain(name: string): string {
  return name.replace(/[-_]/g, "").toLowerCase();
}

/** The same, with people masked. */
export function masked(value: unknown): unknown {
  const known = new Set<string>();
  const first = maskedMembers(value, known);
  const texts = [...known].filter((text) => text.length >= KNOWN_MIN && text !== MASKED).sort((a, b) => b.length - a.length);
  return texts.length === 0 ? first : maskedTexts(first, texts);
}

/** Masks members and addresses, and collects what they had. */
function maskedMembers(value: unknown, known: Set<string>): unknown {
  if (typeof value === "string") return maskedText(value, known);
  if (Array.isArray(value)) return isHeader(value) ? maskedHeader(value, known) : value.map((one) => maskedMembers(one, known));
  if (value === null || typeof value !== "object") return value;
  const members = Object.entries(value).map(([key, inner]) => {
    if (PERSONAL.has(plain(key)) && inner !== null) {
      // Base64 of the whole transaction is long, and stands nowhere else.
      if (plain(key) !== "ilppacket") collect(inner, known);
      return [key, MASKED];
    }
    return [maskedText(key, known), maskedMembers(inner, known)];
  });
  return Object.fromEntries(members);
}

/** Whether a list is a header of a message: its name and its value. */
function isHeader(value: unknown[]): value is [string, string] {
  return value.length === 2 && value.every((one) => typeof one === "string") && /^[a-z0-9-]+$/.test(String(value[0]));
}

function maskedHeader([name, value]: [string, string], known: Set<string>): [string, string] {
  return [name, HEADERS.has(name) ? MASKED : maskedText(value, known)];
}

function maskedText(text: string, known: Set<string>): string {
  const inner = json(text);
  if (inner !== undefined) return JSON.stringify(maskedMembers(inner, known));
  return text.replace(PARTY, (found, kind: string) => {
    for (const part of found.slice(kind.length).split("/")) if (part !== "error") collect(part, known);
    return `${kind}/${MASKED}`;
  });
}

/** What a text has as JSON; none if it is no list and no object. */
function json(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Remembers all texts and numbers in a value. */
function collect(value: unknown, known: Set<string>): void {
  if (typeof value === "string" || typeof value === "number") {
    const text = String(value).trim();
    known.add(text);
    const decoded = unescaped(text);
    known.add(decoded);
    known.add(encodeURIComponent(decoded));
    // +123 and 123 are one number.
    if (/^\+?\d+$/.test(decoded)) known.add(decoded.replace("+", ""));
    const inner = typeof value === "string" ? json(value) : undefined;
    if (inner !== undefined) collect(inner, known);
  } else if (Array.isArray(value)) {
    for (const one of value) collect(one, known);
  } else if (value !== null && typeof value === "object") {
    for (const [key, inner] of Object.entries(value)) {
      // The names of an extension are words of a scheme, its values are not.
      if (plain(key) !== "key") collect(inner, known);
    }
  }
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Masks these texts wherever they stand as whole words. */
function maskedTexts(value: unknown, texts: string[]): unknown {
  const escaped = texts.map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const words = new RegExp(`(?<![\\p{L}\\p{N}])(?:${escaped.join("|")})(?![\\p{L}\\p{N}])`, "giu");
  const inText = (text: string): string => {
    const whole = text.replace(words, MASKED);
    return whole.replace(BASE64_PARTS, (part) => (names(part, words) ? MASKED : part));
  };
  const walk = (inner: unknown): unknown => {
    if (typeof inner === "string") return inText(inner);
    if (typeof inner === "number") return texts.includes(String(inner)) ? MASKED : inner;
    if (Array.isArray(inner)) return inner.map(walk);
    if (inner === null || typeof inner !== "object") return inner;
    return Object.fromEntries(Object.entries(inner).map(([key, one]) => [inText(key), walk(one)]));
  };
  return walk(value);
}

/** Whether a text is Base64 of something that names somebody. */
function names(text: string, words: RegExp): boolean {
  if (!BASE64.test(text)) return false;
  try {
    const latin = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    const decoded = new TextDecoder().decode(Uint8Array.from(latin, (c) => c.charCodeAt(0)));
    return [latin, decoded].some((one) => one.search(words) >= 0 || one.search(PARTY) >= 0);
  } catch {
    return false;
  }
}
