import { readBundle } from "../bundle/store.ts";
import { WorkflowError } from "../contract/error.ts";
import type { VersionView } from "../host/host.ts";
import { show } from "../contract/show.ts";
import { mapPath, type Root } from "../storage/paths.ts";
import { readOwnFile } from "../storage/read.ts";
import { resolveWorkflow } from "./resolve.ts";
import { descriptorOf } from "./workflows.ts";

const maxMapBytes = 256 << 20;

/**
 * A version: a name, `name@hash`, or the hash of a bundle.
 *
 * @throws WorkflowError those of `resolveWorkflow`, and `BUNDLE_CHANGED`.
 */
export async function showVersion(root: Root, version: string): Promise<VersionView> {
  const { name, hash } = await resolveWorkflow(root, version);
  const { length: bytes } = await readBundle(root, hash);
  const sources = [...sourcesOf(root, hash).keys()];
  return { workflow: name, hash, bytes, descriptor: await descriptorOf(root, hash), sources };
}

/**
 * The text of a version's bundle; or, with `file`, of one of the files that it was built from.
 *
 * @throws WorkflowError those of `resolveWorkflow`, `BUNDLE_CHANGED`, `NO_SUCH_SOURCE` (missing).
 */
export async function readVersionText(root: Root, version: string, file?: string): Promise<string> {
  const { name, hash } = await resolveWorkflow(root, version);
  if (file === undefined) return new TextDecoder().decode(await readBundle(root, hash));
  const text = sourcesOf(root, hash).get(file);
  if (text !== undefined) return text;
  throw new WorkflowError({
    code: "NO_SUCH_SOURCE",
    kind: "missing",
    message: `${name} was not built from a file ${show(file)}`,
    hint: "ask without a file for the bundle itself",
  });
}

// A source map is a convenience: what can't be read of it is not shown.
function sourcesOf(root: Root, hash: string): Map<string, string> {
  try {
    const bytes = readOwnFile(mapPath(root, hash), maxMapBytes);
    if (!bytes) return new Map();
    const { sources = [], sourcesContent = [] } = JSON.parse(
      new TextDecoder().decode(bytes),
    ) as Partial<Record<"sources" | "sourcesContent", (string | null)[]>>;
    return new Map(
      sources.flatMap((source, index): [string, string][] => {
        const text = sourcesContent[index];
        return typeof source === "string" && typeof text === "string" ? [[source, text]] : [];
      }),
    );
  } catch {
    return new Map();
  }
}
