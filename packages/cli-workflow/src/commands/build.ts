import { writeFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { buildSource } from "@uncaged/workflow/host";
import { sourcesFor } from "../arguments/names.ts";
import { codeOf } from "../output/output.ts";
import { defineCommand } from "../session/command.ts";
import { badOption } from "../session/errors.ts";
import { outNotWritable } from "../arguments/errors.ts";

const ending = ".esm.js";

export default defineCommand({
  onCluster: "unused",
  declare: (command) =>
    command
      .argument("<file>", "the source: .ts, .mts or .tsx, or a step workflow: .json or .yaml")
      .option("-o, --out <file>", "the bundle to write (default: <source>.esm.js in this folder)"),
  examples: [
    "uncaged-workflow build workflow.ts",
    "uncaged-workflow build src/workflow.ts -o review.esm.js",
    "uncaged-workflow build flow.json -o review.esm.js",
  ],
  async run(session, options: { out?: string }, file: string) {
    const out = options.out ?? `${basename(file).replace(/\.\w+$/, "")}${ending}`;
    if (!out.endsWith(ending)) throw badOption("-o", out, `a bundle's name ends with ${ending}`);
    const path = resolve(session.cwd, out);
    const mapPath = `${path.slice(0, -ending.length)}.map`;
    const sources = await sourcesFor(session, file);
    const { hash, bytes, map } = await buildSource(file, { sources });
    session.withUsersUmask(() => {
      write(path, bytes);
      write(mapPath, map);
    });
    session.show({ path, hash, map: mapPath, bytes: bytes.length }, () => `${path}\n${hash}\n`);
  },
});

function write(path: string, content: Uint8Array | string): void {
  try {
    writeFileSync(path, content);
  } catch (error) {
    throw outNotWritable(path, codeOf(error) || "unknown reason");
  }
}
