import type { DrawnNode, NodePosition, Point, PortAt } from "@uncaged/workflow/editing";
import type { RefObject } from "react";
import { flushSync } from "react-dom";
import { readJson } from "../../lib/json.ts";
import { counted } from "../../lib/format.ts";
import type { EditedDocument } from "../document/document.ts";
import { nothing } from "../document/history.ts";
import type { Converted, Template } from "../kind.ts";
import type { Rect, Size } from "../../ui/layout.ts";
import { around, containerAt, overlaps } from "./geometry.ts";
import { layOut } from "./positions.ts";
import type { View } from "./view.ts";

export type CanvasHandle = {
  view: View;
  rects: () => ReadonlyMap<string, Rect>;
  /** Brings a node into view and focuses it. */
  focus: (id: string) => void;
  /** Brings a node into view. */
  show: (id: string) => void;
};

/** Offset of a duplicate from its original, in drawing coordinates. */
const beside = 28;

/** Horizontal distance between a new node and its left neighbour, in drawing coordinates. */
const apart = 80;

/** Assumed size of a new node, in drawing coordinates. */
const usual: Size = { width: 220, height: 90 };

/** The position of a new node whose head is centred at a point. */
const heldAt = ({ x, y }: Point): Point => ({ x: x - 110, y: y - 22 });

/** Size limit of pasted and imported texts, in bytes. */
export const mostBytes = 1_048_576;

export class Actions {
  readonly #document: EditedDocument;
  readonly #canvas: RefObject<CanvasHandle | null>;
  /** Called after a file was imported. */
  onImported: (converted: Converted | null) => void = () => {};
  #pasted = 0;

  constructor(document: EditedDocument, canvas: RefObject<CanvasHandle | null>) {
    this.#document = document;
    this.#canvas = canvas;
  }

  get #state() {
    return this.#document.state();
  }

  get #rects(): ReadonlyMap<string, Rect> {
    return this.#canvas.current?.rects() ?? new Map<string, Rect>();
  }

  get selected(): DrawnNode[] {
    const { drawing, selection } = this.#state;
    return drawing.nodes.filter(({ id }) => selection.nodes.has(id));
  }

  /**
   * Adds a node at a point of the drawing, by default in the middle of the view. Returns its id, or null if it was not
   * added.
   */
  add(type: string, point: Point | null = null): string | null {
    const { kind } = this.#document;
    const at = point === null ? this.#free() : heldAt(point);
    const parent =
      point === null ? this.#around() : containerAt(this.#state.drawing, this.#rects, point);
    const local = this.#within(parent, at);
    const edit = kind.add(this.#state.value, type, local, parent, point !== null);
    if (!this.#document.apply(edit)) return null;
    const [id = null] = this.#state.selection.nodes;
    return id;
  }

  /** A point of the drawing relative to a container, rounded. */
  #within(parent: string | null, { x, y }: Point): Point {
    const outer = (parent === null ? undefined : this.#rects.get(parent)) ?? { x: 0, y: 0 };
    return { x: Math.round(x - outer.x), y: Math.round(y - outer.y) };
  }

  #around(): string | null {
    const [node, ...others] = this.selected;
    if (!node || others.length > 0) return null;
    return node.isContainer ? node.id : node.parent;
  }

  /** A free place for a new node: next to the selected node, else in the middle of the view. */
  #free(): Point {
    const rects = [...this.#rects.values()];
    const [node, ...others] = this.selected;
    const rect = node && others.length === 0 ? this.#rects.get(node.id) : undefined;
    let free = rect
      ? { x: rect.x + rect.width + apart, y: rect.y }
      : heldAt(this.#canvas.current?.view.center() ?? { x: 0, y: 0 });
    for (;;) {
      const inTheWay = rects.find((one) => overlaps(one, { ...free, ...usual }));
      if (!inTheWay) return free;
      free = rect
        ? { x: free.x, y: inTheWay.y + inTheWay.height + beside }
        : { x: inTheWay.x + inTheWay.width + apart, y: free.y };
    }
  }

  remove(): void {
    const { selection, value } = this.#state;
    const fixed = this.selected.filter(({ isFixed }) => isFixed);
    const nodes = [...selection.nodes].filter((id) => !fixed.some((node) => node.id === id));
    if (nodes.length === 0 && selection.edges.size === 0) {
      const [first] = fixed;
      if (first) this.#document.say(`${first.title} can't be deleted.`);
      return;
    }
    this.#document.apply(this.#document.kind.remove(value, nodes, [...selection.edges]));
  }

  removeEdge(id: string): void {
    this.#document.apply(this.#document.kind.remove(this.#state.value, [], [id]));
  }

  connect(from: PortAt, to: PortAt, replacing?: string): void {
    this.#document.apply(this.#document.kind.connect(this.#state.value, from, to, replacing));
  }

  /** Moves nodes to points of the drawing. A node dropped over a container moves into it. */
  drop(points: ReadonlyMap<string, Point>): void {
    const { drawing } = this.#state;
    const rects = this.#rects;
    const moved = new Set(points.keys());
    const positions = drawing.nodes.flatMap((node): NodePosition[] => {
      const point = points.get(node.id);
      const rect = rects.get(node.id);
      if (!point || !rect) return [];
      // The content of a moved container moves with it.
      if (node.parent !== null && moved.has(node.parent)) return [];
      const middle = { x: point.x + rect.width / 2, y: point.y + rect.height / 2 };
      const parent = containerAt(drawing, rects, middle, within(drawing.nodes, moved));
      return [{ id: node.id, at: this.#within(parent, point), parent }];
    });
    this.#move(positions);
  }

  #move(positions: readonly NodePosition[], merge?: string): void {
    const { move } = this.#document.kind;
    if (!move || positions.length === 0) return;
    const label = `Move ${counted(positions.length, "node")}`;
    this.#document.apply({ ...move(this.#state.value, positions), label, ...(merge && { merge }) });
  }

  moveBy(x: number, y: number): void {
    const positions = this.selected.flatMap(({ id, at, parent }) =>
      at ? [{ id, at: { x: at.x + x, y: at.y + y }, parent }] : [],
    );
    this.#move(positions, `move ${positions.map(({ id }) => id).join(" ")}`);
  }

  async layOut(): Promise<void> {
    const { drawing } = this.#state;
    const points = await layOut(drawing);
    // The drawing has changed during the layout.
    if (this.#state.drawing !== drawing) return;
    const positions = drawing.nodes.flatMap(({ id, parent }) => {
      const at = points.get(id);
      return at ? [{ id, at, parent }] : [];
    });
    this.#fitted(() => this.#move(positions));
  }

  /** Changes the drawing and fits the view synchronously, so that nothing moves under the pointer afterwards. */
  #fitted(change: () => void): void {
    flushSync(change);
    this.#canvas.current?.view.begin();
  }

  selectAll(): void {
    const { nodes } = this.#state.drawing;
    this.select(nodes.map(({ id }) => id));
  }

  select(ids: readonly string[]): void {
    this.#document.select({ nodes: new Set(ids), edges: nothing.edges });
  }

  toggle(id: string): void {
    const { nodes } = this.#state.selection;
    this.select([...nodes.symmetricDifference(new Set([id]))]);
  }

  /** The selected nodes as JSON for the clipboard; null without a selection. */
  copied(): string | null {
    const ids = this.selected.filter(({ isFixed }) => !isFixed).map(({ id }) => id);
    if (ids.length === 0) {
      const [fixed] = this.selected;
      if (fixed) this.#document.say(`${fixed.title} can't be copied.`);
      return null;
    }
    this.#pasted = 0;
    return JSON.stringify(this.#document.kind.copy(this.#state.value, ids), null, 2);
  }

  /** Pastes a text, which may come from any program. */
  paste(text: string): void {
    const { kind } = this.#document;
    if (text.length > mostBytes) return this.#document.say("The clipboard has more than 1 MB.");
    const { value, problem } = readJson(text);
    if (problem !== null) {
      return this.#document.say(`The clipboard is not a ${kind.noun}. ${problem}`);
    }
    this.#pasted += 1;
    const center = this.#canvas.current?.view.center() ?? { x: 0, y: 0 };
    const shift = this.#pasted * beside - 60;
    const at = { x: Math.round(center.x + shift), y: Math.round(center.y + shift) };
    this.#insert(value, at);
  }

  duplicate(): void {
    const ids = this.selected.filter(({ isFixed }) => !isFixed).map(({ id }) => id);
    const rect = around(ids.flatMap((id) => this.#rects.get(id) ?? []));
    if (!rect) return;
    const fragment = this.#document.kind.copy(this.#state.value, ids);
    this.#insert(fragment, { x: Math.round(rect.x + beside), y: Math.round(rect.y + beside) });
  }

  #insert(fragment: unknown, at: Point): void {
    const { kind } = this.#document;
    const edit = kind.paste(this.#state.value, fragment, at, null);
    if (edit) this.#document.apply(edit);
    else this.#document.say(otherFormat(kind.recognize(fragment), kind.noun));
  }

  /** Replaces the document by an imported text: a document of this kind, or a file that the kind converts. */
  async import(given: string, from: string): Promise<void> {
    const { kind } = this.#document;
    try {
      const text = given.replace(/^\uFEFF/, "");
      const converted = (await kind.convert?.(text, from)) ?? null;
      const imported = converted?.text ?? text;
      const { value, problem } = readJson(imported);
      if (problem !== null) throw new Error(problem);
      const other = kind.recognize(value);
      if (other !== null) throw new Error(`It is ${other}, not a ${kind.noun}.`);
      this.#fitted(() => this.#document.replaceAll(imported, `Import ${from}`));
      this.onImported(converted);
    } catch (error) {
      this.#document.say(`${from} was not imported. ${(error as Error).message}`);
    }
  }

  /** Replaces the document by the document of a template, without its `$schema`. */
  async start({ label, load }: Template): Promise<void> {
    const { $schema: _, ...document } = (await load()).default as Record<string, unknown>;
    const text = `${JSON.stringify(document, null, 2)}\n`;
    this.#fitted(() => this.#document.replaceAll(text, `Start from ${label}`));
  }

  async importFile(file: File): Promise<void> {
    // A browser may give a .ts file the type of a video.
    if (/^(image|audio|video)\//.test(file.type) && !file.name.endsWith(".ts")) {
      const what = file.type.startsWith("image/") ? "an image" : "a recording";
      return this.#document.say(`${file.name} was not imported: expected JSON, not ${what}.`);
    }
    if (file.size > mostBytes) {
      return this.#document.say(`${file.name} was not imported: it has more than 1 MB.`);
    }
    await this.import(await file.text(), file.name);
  }
}

function within(nodes: readonly DrawnNode[], ids: ReadonlySet<string>): Set<string> {
  const inside = new Set(ids);
  for (const { id, parent } of nodes) if (parent !== null && inside.has(parent)) inside.add(id);
  return inside;
}

const otherFormat = (other: string | null, noun: string): string =>
  other === null
    ? `The clipboard has no part of a ${noun}.`
    : `The clipboard has ${other}, not a part of a ${noun}.`;
