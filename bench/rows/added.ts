import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { buildSource } from "../../packages/workflow/src/host.ts";
import { stepsSource } from "../../packages/workflow-steps/src/source.ts";
import { bunArguments, type Built } from "../command.ts";
import { inTurn, type Sample, sampleOf, timed } from "../measure.ts";
import { line, type Line, type Row } from "../row.ts";
import { asked, small } from "../steps/documents.ts";

const times = 25;
const emptyBundle = `export const descriptor = { description: "empty", roles: { worker: { description: "" } } };
export async function* run() {
  yield { role: "worker", content: "", meta: {} };
  return { returnCode: 0, summary: "" };
}
`;

const bundles = [
  { what: "a bundle of two steps", document: small, most: { raw: 200, gzip: 70, ratio: 2.5 } },
  { what: "one that asks a model too", document: asked, most: { raw: 800, gzip: 230, ratio: 6 } },
];

/** What a bundle weighs because it carries its interpreter, and what a process takes longer for it. */
export const added = (built: Built): Row => ({
  name: "added",
  async measure(folder) {
    const empty = join(folder, "empty.esm.js");
    writeFileSync(empty, emptyBundle);
    const lines: Line[] = [];
    for (const { what, document, most } of bundles) {
      const source = join(folder, `${document.name}.json`);
      writeFileSync(source, JSON.stringify(document));
      const { bytes } = await buildSource(source, { sources: [stepsSource(console.error)] });
      const path = join(folder, `${document.name}.esm.js`);
      writeFileSync(path, bytes);
      const text = Buffer.from(emptyBundle);
      lines.push(
        weight(`${what}, minified`, text, bytes, most.raw),
        weight(`${what}, gzip`, gzipSync(text), gzipSync(bytes), most.gzip),
        await starts(built, { what, most }, [empty, path]),
      );
    }
    return lines;
  },
});

const against = "an empty bundle";

function weight(what: string, baseline: Uint8Array, ours: Uint8Array, most: number): Line {
  const kilobytes = (bytes: Uint8Array): Sample => sampleOf([bytes.length / 1000]);
  const samples: [Sample, Sample] = [kilobytes(baseline), kilobytes(ours)];
  return line({ what, unit: "KB", against, target: { most } }, samples);
}

/** A process that imports the bundle and makes its steps durable, from its start to its end. */
async function starts(
  built: Built,
  { what, most }: Omit<(typeof bundles)[number], "document">,
  [empty, ours]: [string, string],
): Promise<Line> {
  const log = `${ours}.jsonl`;
  const take = (bundle: string) => () => {
    rmSync(log, { force: true });
    return timed(() => run([join(built.baseline, "child.js"), bundle, log, ""]));
  };
  await inTurn(3, take(empty), take(ours));
  const samples = await inTurn(times, take(empty), take(ours));
  const target = { ratio: most.ratio };
  return line({ what: `${what}, a process`, unit: "ms", against, target }, samples);
}

async function run(args: string[]): Promise<void> {
  const command = [process.execPath, ...bunArguments, ...args];
  const code = await Bun.spawn(command, { stdio: ["ignore", "ignore", "inherit"] }).exited;
  if (code !== 0) throw new Error(`it exited with ${code}`);
}
