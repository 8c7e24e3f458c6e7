// A payment's history as a sequence diagram: lanes, and what goes between them in the order of time.

import type { Turn } from "../data/kinds";
import { headerOf, type Message, messagesOf } from "./messages";

/** A vertical line: an FSP or a component. */
export type Lane = { id: string; name: string; kind: "fsp" | "component" };

/** What goes from lane to lane, or what is noted at one. */
export type Mark = {
  what: "message" | "answer" | "event" | "call" | "note" | "self";
  from: number;
  to: number;
  label: string;
  /** Milliseconds since the first turn. */
  ms: number;
  tone: "plain" | "good" | "bad";
  turn: Turn;
  /** What was kept of the message that the arrow is. */
  messages: Message[];
  /** Whether it is a message, of which something may have been kept. */
  isMessage: boolean;
};

/** The diagram. */
export type Diagram = { lanes: Lane[]; marks: Mark[]; start: number };

/** Who pays whom, and under which addresses FSPs are reached. */
export type Sides = { payer: string; payee: string; fspOf: (url: string) => string | undefined };

/** The value of a step of this kind. */
export function stepsOf(turn: Turn, kind: string): Record<string, unknown>[] {
  return turn.steps.filter((step) => kind in step).map((step) => step[kind] ?? {});
}

/** The method and the path of a URL: `POST /transfers`. */
export function pathOf(request: string): string {
  const [method = "", url = ""] = request.split(" ");
  return `${method} ${url.replace(/^https?:\/\/[^/]+/, "") || "/"}`;
}

/** Long ids in a label, short. */
export function shortened(label: string): string {
  return label.replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, (id) => `${id.slice(0, 8)}…`);
}

/** Draws turns. Those of one subject may come twice, with another subject: they count once. */
export function diagram(turns: Turn[], sides: Sides, withCalls: boolean): Diagram {
  const unique = [...new Map(turns.map((turn) => [turn.turn, turn])).values()];
  const sorted = unique.sort((a, b) => a.at - b.at || a.turn - b.turn);
  const start = Math.min(...sorted.map((turn) => turn.at));
  const drawing = new Drawing(sides, Number.isFinite(start) ? start : 0, sorted, withCalls);
  for (const turn of sorted) drawing.add(turn);
  return drawing.done();
}

class Drawing {
  private readonly lanes: Lane[] = [];
  private readonly marks: Omit<Mark, "from" | "to">[] = [];
  private readonly ends: [string, string][] = [];
  private readonly componentOf: Map<number, string>;
  private readonly sentTo = new Map<unknown, string>();

  constructor(
    private readonly sides: Sides,
    private readonly start: number,
    turns: Turn[],
    private readonly withCalls: boolean,
  ) {
    this.componentOf = new Map(turns.map((turn) => [turn.turn, turn.component]));
    this.lane("fsp:payer", sides.payer, "fsp");
  }

  private lane(id: string, name: string, kind: Lane["kind"]): string {
    if (!this.lanes.some((lane) => lane.id === id)) this.lanes.push({ id, name, kind });
    return id;
  }

  private component(name: string): string {
    return this.lane(`component:${name}`, name, "component");
  }

  /** The lane of the FSP that sends a message. Without the message itself its method says it: a payee answers with PUT or PATCH. */
  private sender(method: string, turn: Turn): string {
    const source = headerOf(messagesOf(turn).find((message) => message.part === "Came"), "fspiop-source");
    if (source !== undefined) return this.fsp(source);
    const isPayee = method === "PUT" || method === "PATCH";
    return isPayee ? this.payee() : "fsp:payer";
  }

  private fsp(name: string): string {
    if (name === this.sides.payer) return "fsp:payer";
    if (name === this.sides.payee) return this.payee();
    return this.lane(`fsp:${name}`, name, "fsp");
  }

  private payee(): string {
    return this.lane("fsp:payee", this.sides.payee, "fsp");
  }

  /** The lane of the FSP that gets a request. */
  private receiver(request: string): string {
    const [method = "", url = ""] = request.split(" ");
    const fsp = this.sides.fspOf(url);
    if (fsp !== undefined && this.sides.payer !== this.sides.payee) return this.fsp(fsp);
    return method === "PUT" ? "fsp:payer" : this.payee();
  }

  private mark(what: Mark["what"], from: string, to: string, label: string, turn: Turn, tone: Mark["tone"] = "plain", of?: (message: Message) => boolean): void {
    const messages = of ? messagesOf(turn).filter(of) : [];
    this.marks.push({ what, label: shortened(label), ms: turn.at - this.start, tone, turn, messages, isMessage: of !== undefined });
    this.ends.push([from, to]);
  }

  add(turn: Turn): void {
    const here = this.component(turn.component);
    this.arrival(turn, here);
    for (const judged of stepsOf(turn, "Judged")) {
      const verdict = String(judged["verdict"]);
      const tone = verdict.startsWith("allow") ? "good" : "bad";
      this.mark("note", here, here, `${String(judged["rule"])}: ${verdict}`, turn, tone);
    }
    for (const called of this.withCalls ? stepsOf(turn, "Called") : []) {
      const there = this.component(String(called["component"]));
      this.mark("call", here, there, String(called["function"]).split("/").pop() ?? "", turn);
    }
    for (const sent of stepsOf(turn, "Sent")) {
      const request = String(sent["request"]);
      const there = this.receiver(request);
      this.sentTo.set(sent["id"], there);
      const id = sent["id"];
      this.mark("message", here, there, pathOf(request), turn, "plain", (kept) => kept.part === "Sent" && kept.request === id);
    }
  }

  private arrival(turn: Turn, here: string): void {
    const status = stepsOf(turn, "Answered")[0]?.["status"];
    if (turn.kind === "Request") {
      const method = turn.function.split(" ")[0] ?? "";
      const tone = Number(status) >= 400 ? "bad" : "plain";
      const label = status === undefined ? turn.function : `${turn.function} (${String(status)})`;
      const isOfIt = (kept: Message): boolean => kept.part === "Came" || kept.part === "Answer";
      this.mark("message", this.sender(method, turn), here, label, turn, tone, isOfIt);
      return;
    }
    if (turn.kind === "Report") {
      for (const reported of stepsOf(turn, "Reported")) {
        const outcome = String(reported["outcome"]);
        const tone = outcome.startsWith("2") ? "plain" : "bad";
        const from = this.sentTo.get(reported["id"]);
        const id = reported["id"];
        this.mark(from ? "answer" : "self", from ?? here, here, outcome, turn, tone, (kept) => kept.part === "Response" && kept.request === id);
      }
      return;
    }
    const cause = turn.cause === null ? undefined : this.componentOf.get(turn.cause);
    const from = cause === undefined ? here : `component:${cause}`;
    this.mark(from === here ? "self" : "event", from, here, turn.function, turn);
  }

  done(): Diagram {
    // The payee stands at the right, as in the books.
    const isPayee = (lane: Lane): boolean => lane.kind === "fsp" && lane.id !== "fsp:payer";
    const lanes = [...this.lanes.filter((lane) => !isPayee(lane)), ...this.lanes.filter(isPayee)];
    const at = new Map(lanes.map((lane, index) => [lane.id, index]));
    const marks = this.marks.map((mark, index) => {
      const [from, to] = this.ends[index] ?? ["", ""];
      return { ...mark, from: at.get(from) ?? 0, to: at.get(to) ?? 0 };
    });
    return { lanes, marks, start: this.start };
  }
}
