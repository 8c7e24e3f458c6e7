// Support bundles without what names a person.

/** What stands in the place of a masked text. */
export const MASKED = "•••";
/** Members that name a person, in the words of messages and of components. */
const PERSONAL = new Set([
  "identifier",
  "partyIdentifier",
  "sub-id-or-type",
  "partySubIdOrType",
  "name",
  "personalInfo",
  "personal-info",
  "complexName",
  "firstName",
  "middleName",
  "lastName",
  "dateOfBirth",
  "note",
  "extensionList",
  "geoCode",
]);
/** Kinds of identifiers of parties, as addresses and subjects write them. */
const PARTY = /\b(MSISDN|EMAIL|PERSONAL_ID|BUSINESS|DEVICE|ACCOUNT_ID|IBAN|ALIAS|CONSENT|THIRD_PARTY_LINK)\/[^\s"?#]+/g;

/** The same, with people masked. */
export function masked(value: unknown): unknown {
  if (typeof value === "string") return value.replace(PARTY, `$1/${MASKED}`);
  if (Array.isArray(value)) return value.map(masked);
  if (value === null || typeof value !== "object") return value;
  const members = Object.entries(value).map(([key, inner]) => {
    const isPersonal = PERSONAL.has(key) && inner !== null;
    return [key, isPersonal ? MASKED : masked(inner)];
  });
  return Object.fromEntries(members);
}
