import { writeFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { buildSource, show, WorkflowError } from "@uncaged/workflow/host";
import type { Command } from "commander";
import { sourcesFor } from "../arguments/names.ts";
import { examples, type Perform } from "../session/command.ts";
import type { Session } from "../session/session.ts";

const bundleEnding = ".esm.js";

export function define(command: Command, perform: Perform): void {
  command
    .argument("<file>", "the source: .ts, .mts or .tsx, or a step workflow: .json or .yaml")
    .option("-o, --out <file>", "the bundle to write (default: <source>.esm.js in this folder)")
    .action(perform(build));
  examples(
    command,
    "uncaged-workflow build workflow.ts",
    "uncaged-workflow build src/workflow.ts -o review.esm.js",
    "uncaged-workflow build flow.json -o review.esm.js",
  );
}

async function build(session: Session, options: { out?: string }, file: string): Promise<void> {
  const out = options.out ?? `${basename(file).replace(/\.\w+$/, "")}${bundleEnding}`;
  if (!out.endsWith(bundleEnding)) throw badEnding(out);
  const path = resolve(session.cwd, out);
  const mapPath = `${path.slice(0, -bundleEnding.length)}.map`;
  const { hash, bytes, map } = await buildSource(file, {
    sources: await sourcesFor(session, file),
  });
  session.withUsersUmask(() => {
    write(path, bytes);
    write(mapPath, map);
  });
  session.show({ path, hash, map: mapPath, bytes: bytes.length }, () => `${path}\n${hash}\n`);
}

function write(path: string, content: Uint8Array | string): void {
  try {
    writeFileSync(path, content);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "no reason";
    throw new WorkflowError(
      {
        code: "OUT_NOT_WRITABLE",
        kind: "failed",
        message: `can't write ${show(path)}: ${code}`,
        hint: "name a file in a folder that exists and can be written: -o <file>",
      },
      { cause: error },
    );
  }
}

function badEnding(out: string): WorkflowError {
  return new WorkflowError({
    code: "BAD_OPTION",
    kind: "usage",
    message: `-o can't be ${show(out)}`,
    hint: `a bundle's name ends with ${bundleEnding}`,
  });
}
