// The legs of a payment, by the messages of which they are. The host names messages by the operations of its APIs.

/** A leg: its name in the words, the message that begins it, and all its messages. */
export type Leg = { leg: "lookup" | "quote" | "transfer"; begins: string; messages: string[] };

/** In the order of a payment. */
export const LEGS: Leg[] = [
  { leg: "lookup", begins: "queryParty", messages: ["queryParty", "queryPartyWithSubId", "answerParty", "answerPartyWithSubId", "refuseParty", "refusePartyWithSubId"] },
  { leg: "quote", begins: "requestQuote", messages: ["requestQuote", "answerQuote", "refuseQuote", "queryQuote"] },
  { leg: "transfer", begins: "requestTransfer", messages: ["requestTransfer", "fulfilTransfer", "rejectTransfer", "patchTransfer", "queryTransfer"] },
];

/** The leg of a message. */
export function legOf(message: string): Leg | undefined {
  return LEGS.find((leg) => leg.messages.includes(message));
}
