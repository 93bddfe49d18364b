import { WorkflowError } from "@uncaged/workflow";
import { adapterOf, untilAborted } from "./adapter-call.ts";
import type { Call, Called } from "./call.ts";
import { badField, fieldOf, pathFromRoot, placeOf, recordField, textField } from "./field.ts";

/**
 * Unpacks the archive at `source`. A file goes, with its folders in the archive, into the folder that
 * `routeByExt` names for its ending (`{"png": "images"}`), else into `defaultDir`, else under the root.
 * With `overwrite: false` a file that is there stays. `_result` is `{files, skipped}`, lists of paths.
 *
 * @throws WorkflowError `UNZIP_OUTSIDE` for an archive with a path that leads out; nothing is written.
 */
export async function callUnzip(call: Call): Promise<Called> {
  const source = textField(call, "source");
  if (source === undefined) throw badField(call, "it has no source");
  const adapter = adapterOf(call, "file");
  const unzip = adapter.unzip?.bind(adapter);
  if (!unzip) throw badField(call, "the adapter file can't unpack archives: it has no unzip");
  const routes = routesOf(call);
  const archive = await untilAborted(call.signal, () => unzip(placeOf(call, source)));
  const plan = archive.map(({ path, data }) => ({ path: routes(checked(call, path)), data }));
  const overwrite = fieldOf(call, "overwrite") !== false;
  const files: string[] = [];
  const skipped: string[] = [];
  for (const { path, data } of plan) {
    call.signal.throwIfAborted();
    if (!overwrite && (await adapter.exists(placeOf(call, path)))) skipped.push(path);
    else {
      await call.writeFile(path, data, "overwrite");
      files.push(path);
    }
  }
  return { locals: { _result: { files, skipped } } };
}

/** Where a file of the archive goes. */
function routesOf(call: Call): (path: string) => string {
  const folder = textField(call, "defaultDir") ?? "";
  const routes = Object.entries(recordField(call, "routeByExt") ?? {}).map(([ending, to]) => {
    if (typeof to !== "string") throw badField(call, `its routeByExt has no folder for ${ending}`);
    return [ending.replace(/^\./, "").toLowerCase(), to] as const;
  });
  const byEnding = new Map(routes);
  return (path) => {
    const ending = /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
    const into = pathFromRoot(byEnding.get(ending) ?? folder).replace(/\/+$/, "");
    return into === "" ? path : `${into}/${path}`;
  };
}

function checked({ step }: Call, given: string): string {
  const path = given.replace(/^(\.\/)+/, "");
  const parts = path.split(/[\\/]/);
  const leadsOut = parts.some((part) => part === ".." || part === "." || part === "");
  if (!leadsOut && !/^[A-Za-z]:/.test(path) && !path.includes("\0")) return path;
  throw new WorkflowError({
    code: "UNZIP_OUTSIDE",
    kind: "failed",
    message: `${step.id}: the archive has the path ${JSON.stringify(path.slice(0, 200))}, which leads out`,
    hint: "do not trust this archive: nothing of it was written",
  });
}
