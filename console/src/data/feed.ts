// What happens now: the host's stream, and the time before it. One stream while the page of it is open and seen.

import { get, stream } from "./api";
import { Course, type Figure, type Told } from "./course";
import { type Event, read } from "./events";
import { COLLECTION, Flow, transferOf } from "./flow";
import { recent } from "./recent";

/** The host tells figures every two seconds: this long without anything, and it is gone. */
const SILENT_MS = 10_000;
/** The pause before another try, at first and at most. */
const PAUSE_MS = 1000;
const PAUSE_MAX_MS = 15_000;
/** A page that nobody sees lets go of its stream after this time. */
const HIDDEN_MS = 30_000;
/** The page is drawn at most so often for documents. */
const DRAWN_MS = 500;
/** Points of a chart. */
const POINTS = 360;
const MINUTE_MS = 60_000;

/** The checks of the host. */
export type Health = { ready: boolean; checks: { check: string; ok: boolean; says: string }[] };

/** The times that can be looked at, in hours. The host itself remembers the first two. */
export const SPANS = [0.25, 2, 24, 168] as const;
export type Span = (typeof SPANS)[number];

/** What happens now. */
export class Feed {
  readonly course = new Course();
  flow = new Flow();
  /** Figures of the last minute. */
  minute: { at: number; figures: Figure[] }[] = [];
  health: Health | undefined;
  /** When the last figures came. */
  at: number | undefined;
  error: Error | undefined;
  span: Span = 2;
  /** Whether the time before is there. */
  hasPast = false;
  pastError: Error | undefined;
  private stop: AbortController | undefined;
  private hidden: ReturnType<typeof setTimeout> | undefined;
  private drawing: ReturnType<typeof setTimeout> | undefined;
  private readonly listeners = new Set<() => void>();

  /** Call this when something has come. Returns how to end that. The stream is open while anybody listens. */
  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    if (this.listeners.size === 1) this.open();
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size === 0) this.close();
    };
  }

  /** Look at another time. */
  async look(span: Span): Promise<void> {
    this.span = span;
    this.tell();
    await this.readPast();
  }

  /** Forget everything: somebody else may sign in. */
  forget(): void {
    this.close();
    this.course.begin({ from: "memory", everyMs: 20_000, longer: false, at: [], series: [], leftOut: 0 }, 0);
    this.flow = new Flow();
    this.minute = [];
    [this.health, this.at, this.error, this.pastError, this.hasPast] = [undefined, undefined, undefined, undefined, false];
    this.span = 2;
  }

  private open(): void {
    const stop = new AbortController();
    this.stop = stop;
    document.addEventListener("visibilitychange", this.seen);
    void this.run(stop.signal);
  }

  private close(): void {
    document.removeEventListener("visibilitychange", this.seen);
    clearTimeout(this.hidden);
    this.stop?.abort();
    this.stop = undefined;
  }

  private readonly seen = (): void => {
    clearTimeout(this.hidden);
    if (document.visibilityState === "visible") {
      if (this.stop === undefined) this.open();
      return;
    }
    this.hidden = setTimeout(() => {
      this.stop?.abort();
      this.stop = undefined;
    }, HIDDEN_MS);
  };

  private async run(signal: AbortSignal): Promise<void> {
    let pause = PAUSE_MS;
    while (!signal.aborted) {
      try {
        const opening = stream(`/live?documents=${COLLECTION}`, signal);
        // What the stream does not tell: all before it. It may come in any order. A host that was away is not asked before it answers.
        if (this.error !== undefined) await opening;
        void this.readPast();
        void this.readRecent(signal);
        const body = await opening;
        await read(body, SILENT_MS, (one) => {
          pause = PAUSE_MS;
          this.error = undefined;
          this.take(one);
        });
        this.error = new Error();
      } catch (error) {
        if (signal.aborted) return;
        this.error = error as Error;
      }
      this.tell();
      await new Promise((done) => setTimeout(done, pause));
      pause = Math.min(PAUSE_MAX_MS, pause * 2);
    }
  }

  private async readPast(): Promise<void> {
    const span = this.span;
    const hours = Math.max(1, Math.ceil(span));
    // A quarter of an hour has all its samples.
    const points = span < 1 ? POINTS * 2 : POINTS;
    try {
      const told = await get<Told>(`/live/past?hours=${hours}&points=${points}`);
      if (span !== this.span) return;
      this.course.begin(told, this.spanMs());
      // What the stream told after the newest of these, or while they were on their way.
      for (const { at, figures } of this.minute) this.course.add(at, figures, this.spanMs());
      this.hasPast = true;
      this.pastError = undefined;
    } catch (error) {
      if (span === this.span) this.pastError = error as Error;
    }
    this.tell();
  }

  private async readRecent(signal: AbortSignal): Promise<void> {
    try {
      this.flow.take(await recent(signal));
    } catch {
      // The stream tells of new ones, and of a host that is gone.
    }
    this.tell();
  }

  private spanMs(): number {
    return this.span * 3_600_000;
  }

  private take({ event, data }: Event): void {
    const said: unknown = JSON.parse(data);
    if (event === "figures") {
      const { at, figures } = said as { at: number; figures: Figure[] };
      this.at = at;
      this.course.add(at, figures, this.spanMs());
      this.minute = [...this.minute, { at, figures }].filter((one) => one.at > at - MINUTE_MS);
      this.tell();
    } else if (event === "documents") {
      const { documents, more } = said as { documents: { body: Parameters<typeof transferOf>[0] | null }[]; more: number };
      this.flow.take(documents.flatMap(({ body }) => (body ? [transferOf(body)] : [])));
      this.flow.unseen += more;
      this.drawing ??= setTimeout(() => this.tell(), DRAWN_MS);
    } else if (event === "lost") {
      this.flow.unseen += (said as { documents: number }).documents;
    } else if (event === "health") {
      this.health = said as Health;
      this.tell();
    }
  }

  private tell(): void {
    clearTimeout(this.drawing);
    this.drawing = undefined;
    for (const listener of this.listeners) listener();
  }
}

/** The feed of this page. */
export const feed = new Feed();
