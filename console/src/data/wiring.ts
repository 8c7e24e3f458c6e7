// The wiring of a release: what contexts call, publish and ask, and the rules at steps; and its picture.

/** A component. */
export type Wired = { name: string; digest: string; listener?: string; host: string[]; version?: string };

/** The kind of a link. */
export type LinkKind = "call" | "event" | "secrets" | "step" | "counters";

/** A link of a component to another one, or to a step. */
export type Link = { from: string; to: string; kind: LinkKind; interface: string };

/** The wiring as the host tells it. */
export type Wiring = {
  release: number;
  contexts: Wired[];
  rules: Wired[];
  links: Link[];
  steps: { step: string; rules: { rule: string; effectiveFrom?: number; effectiveUntil?: number; canary?: string; shadow?: string }[] }[];
  unheard?: { component: string; interface: string }[];
};

/** A box of the picture. Rules stand in the box of their step. */
export type Box = { id: string; kind: "context" | "step"; lines: string[]; width: number; height: number };

/** An arrow: all links of one kind between two boxes. */
export type Arrow = { from: string; to: string; kind: LinkKind; interfaces: string[] };

/** The width of a letter and the height of a line, in units of the picture. */
const LETTER = 7.1;
const LINE = 19;
const PADDING = 12;

const box = (id: string, kind: Box["kind"], lines: string[]): Box => ({
  id,
  kind,
  lines,
  width: Math.max(...lines.map((line) => line.length)) * LETTER + 2 * PADDING,
  height: lines.length * LINE + PADDING,
});

/** A step and a context may have one name. */
export const ofStep = (step: string): string => `step ${step}`;

/** The boxes and arrows with links of these kinds. */
export function picture(wiring: Wiring, kinds: LinkKind[]): { boxes: Box[]; arrows: Arrow[] } {
  const arrows = new Map<string, Arrow>();
  for (const link of wiring.links) {
    if (!kinds.includes(link.kind)) continue;
    const isStep = link.kind === "step" || link.kind === "counters";
    const to = isStep ? ofStep(link.to) : link.to;
    const key = `${link.from}\n${to}\n${link.kind}`;
    const arrow = arrows.get(key) ?? { from: link.from, to, kind: link.kind, interfaces: [] };
    if (!arrow.interfaces.includes(link.interface)) arrow.interfaces.push(link.interface);
    arrows.set(key, arrow);
  }
  const contexts = wiring.contexts.map((one) => box(one.name, "context", [one.name, ...(one.listener ? [`⇄ ${one.listener}`] : [])]));
  const steps = kinds.includes("step")
    ? wiring.steps.map(({ step, rules }) => box(ofStep(step), "step", [step, ...rules.map((one, at) => `${at + 1}. ${one.rule}`)]))
    : [];
  const boxes = [...contexts, ...steps];
  const known = new Set(boxes.map((one) => one.id));
  return { boxes, arrows: [...arrows.values()].filter((one) => known.has(one.from) && known.has(one.to)) };
}

/** A place of the picture. */
export type Point = { x: number; y: number };

/** A line through points, without corners. */
export function curve(points: Point[]): string {
  const at = (point: Point): string => `${point.x.toFixed(1)} ${point.y.toFixed(1)}`;
  const [first, ...rest] = points;
  if (!first) return "";
  const last = rest[rest.length - 1] ?? first;
  const middles = rest.slice(0, -1).map((point, index) => {
    const next = rest[index + 1] ?? point;
    const end = index === rest.length - 2 ? next : { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 };
    return `Q ${at(point)} ${at(end)}`;
  });
  return middles.length > 0 ? `M ${at(first)} ${middles.join(" ")}` : `M ${at(first)} L ${at(last)}`;
}
