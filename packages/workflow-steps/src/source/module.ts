import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { WorkflowError } from "@uncaged/workflow";
import { checkedDocument } from "./source.ts";
import { adaptersName, moduleCode, packageName } from "./code.ts";
import { gather } from "./gather.ts";
import { unserved } from "./needed.ts";

/** A kind of source for `addWorkflow` and `buildSource` of `@uncaged/workflow/host`. */
export type StepsSource = {
  matches(file: string): boolean;
  module(text: string, file: string): Promise<{ code: string; resolve: Record<string, string> }>;
};

/**
 * Step workflows as sources of bundles: `.json`, `.yaml` and `.yml` files. A file is checked, and so are
 * those that its steps run by a literal path, relative to the file; all become one bundle, with the
 * default adapters that they use.
 *
 * @param warn gets each warning of the check, with file, line and column
 * @throws WorkflowError from `module`: `STEPS_INVALID` with all faults in `details`,
 * `SUBFLOW_MISSING`, `SUBFLOW_CYCLE`, `SUBFLOW_TOO_DEEP`.
 * @example await addWorkflow(root, "review", "flow.json", { sources: [stepsSource(console.warn)] });
 */
export function stepsSource(warn: (warning: string) => void): StepsSource {
  const checked = (text: string, file: string) => {
    const { document, warnings } = checkedDocument(text, file);
    for (const warning of [...warnings, ...unserved(document, file)]) warn(warning);
    return document;
  };
  return {
    matches: (file) => /\.(json|ya?ml)$/i.test(file),
    async module(text, file) {
      const gathered = await gather(checked(text, file), file, async (path, step, by) => {
        const child = join(dirname(file), path);
        return checked(await readChild(child, step, join(dirname(file), by)), child);
      });
      return { code: moduleCode(gathered), resolve: ownFiles() };
    },
  };
}

async function readChild(path: string, step: string, by: string): Promise<string> {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await readFile(path));
  } catch (cause) {
    throw new WorkflowError(
      {
        code: "SUBFLOW_MISSING",
        kind: "failed",
        message: `${by}: ${step}: the workflow ${path} can't be read`,
        hint: "a literal workflow_path is relative to the file that names it",
      },
      { cause },
    );
  }
}

// Packed, this file may stand in the dist of a program that depends on the package.
function ownFiles(): Record<string, string> {
  if (import.meta.url.endsWith(".ts")) {
    return { [packageName]: sibling("index"), [adaptersName]: sibling("adapters") };
  }
  const installed = (name: string) => Bun.resolveSync(name, import.meta.dir);
  return { [packageName]: installed(packageName), [adaptersName]: installed(adaptersName) };
}

const sibling = (door: string): string => fileURLToPath(new URL(`../${door}.ts`, import.meta.url));
