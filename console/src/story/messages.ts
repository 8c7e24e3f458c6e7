// The messages that a host keeps with its turns, if its operator wants that.

import type { Turn } from "../data/kinds";

/** A message of a turn, as the history has it. */
export type Message = {
  part: "Came" | "Answer" | "Sent" | "Response";
  /** The id of the outbound request. */
  request: number | null;
  /** Method and target, or the status. */
  line: string;
  headers: [string, string][];
  headers_left_out: number;
  body: string | null;
  body_bytes: number;
};

/** The messages that were kept with a turn. */
export function messagesOf(turn: Turn): Message[] {
  return turn.steps.filter((step) => "Message" in step).map((step) => step["Message"] as unknown as Message);
}

/** The value of a header; none if it is not there. */
export function headerOf(message: Message | undefined, name: string): string | undefined {
  return message?.headers.find(([header]) => header === name)?.[1];
}

/** A body for people: JSON with indents, anything else as it is. */
export function bodyText(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
