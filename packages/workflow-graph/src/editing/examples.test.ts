import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runBlocker } from "../check/blocker.ts";
import { applyEdits, editsOf } from "@uncaged/workflow/editing";
import { graphEditing } from "./editing.ts";

const top = join(import.meta.dir, "../../../..");
const read = (path: string) => readFileSync(join(top, path), "utf8");
const kind = graphEditing(() => ({ models: [], reasoningEfforts: [], tools: [] }));

type Document = { nodes: { id: string }[]; connections: unknown[] };

const guide = /```json\n(\{[\s\S]*?)```/.exec(read("docs/guides/graphs.md"))?.[1] ?? "";

const texts: [name: string, text: string][] = [
  ["the research team", read("examples/research-team/team.json")],
  ["the review pipeline", read("examples/review-pipeline/pipeline.json")],
  ["the graph of the guide", guide],
  ["a graph in one line with other ends of lines", `${JSON.stringify(JSON.parse(guide))}\r\n`],
];

test.each(texts)(
  "%s is drawn completely, can run, and changes only where it is edited",
  (_, text) => {
    const document = JSON.parse(text) as Document;
    expect(kind.recognize(document)).toBeNull();
    const { nodes, edges } = kind.read(document);
    expect([nodes.length, edges.length]).toEqual([
      document.nodes.length,
      document.connections.length,
    ]);
    expect(nodes.flatMap(({ ports }) => ports).filter(({ isOpen }) => !isOpen)).toEqual([]);
    expect(runBlocker(document as never)).toBeNull();
    const [, second] = nodes;
    const at = { id: second?.id ?? "", at: { x: 1, y: 2 }, parent: null };
    const moved = kind.move?.(document, [at]);
    const edits = editsOf(text, moved?.changes ?? []);
    const once = applyEdits(text, edits);
    expect(kind.move?.(JSON.parse(once), [at]).changes).toEqual([]);
    const linesOf = (whole: string) => whole.split("\n");
    const changed = linesOf(once).filter((line) => !linesOf(text).includes(line));
    expect(changed.length).toBeLessThan(4);
  },
);
