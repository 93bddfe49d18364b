import { decoded, isPlain } from "../expression/value.ts";
import { outEntries } from "../document/target.ts";
import { answerOf, headersIn } from "./api.ts";
import {
  archivePath,
  ask,
  type Call,
  type Called,
  fieldOf,
  pathFromRoot,
  plain,
  typedField,
} from "./call.ts";
import {
  badArchive,
  badRoute,
  badSourceURL,
  binaryResult,
  missingSource,
  noUnzip,
  unsafeArchive,
} from "./errors.ts";

/**
 * Fetches the URL in `source` through the API adapter. With a `target` it writes the file there, and `_result` is
 * `{path, size_bytes, content_type}`. Without a target `_result` is the file's text. For a binary file it is the bytes
 * (`Uint8Array`), which only a file target of `out` accepts.
 */
export async function callDownload(call: Call): Promise<Called> {
  const url = sourceOf(call);
  if (!/^https?:/i.test(url) || !URL.canParse(url)) {
    throw badSourceURL(call.step.id, url);
  }
  const target = typedField(call, "text", "target");
  const { status, headers, data } = await answerOf(call, {
    id: call.step.id,
    method: "GET",
    url,
    headers: Object.fromEntries(headersIn(call, typedField(call, "object", "headers"))),
    bytes: true,
  });
  const text = typeof data === "string" ? data : JSON.stringify(data ?? "");
  const bytes = data instanceof Uint8Array ? data : new TextEncoder().encode(text);
  const content_type = headers["content-type"] ?? null;
  const _meta = plain({ status, headers, content_type, size_bytes: bytes.length }, "the download");
  if (target === undefined) return { locals: { _result: resultOf(call, bytes), _meta } };
  const path = pathFromRoot(target);
  await call.writeFile(path, bytes, "overwrite");
  return { locals: { _result: { path, size_bytes: bytes.length, content_type }, _meta } };
}

function sourceOf(call: Call): string {
  const source = typedField(call, "text", "source");
  if (source === undefined) throw missingSource(call.step.id);
  return source;
}

function resultOf(call: Call, bytes: Uint8Array): string | Uint8Array {
  const text = decoded(bytes);
  if (text !== null && !text.includes("\0")) return text;
  const wanted = outEntries(call.step.out).find(
    ([target, value]) => target.startsWith("$") && String(value).includes("_result"),
  );
  if (!wanted) return bytes;
  throw binaryResult(call.step.id, wanted[0]);
}

/**
 * Unpacks the archive at `source`. Each file keeps its path in the archive, below the folder that `routeByExt` sets for
 * its extension (`{"png": "images"}`), otherwise below `defaultDir`, otherwise below the root. With `overwrite: false`,
 * keeps existing files. `_result` is `{files, skipped}`, two lists of paths. Refuses an archive that has a path outside
 * its folder.
 */
export async function callUnzip(call: Call): Promise<Called> {
  const source = sourceOf(call);
  const routes = routesOf(call);
  const archive: unknown = await ask(call, "file", (adapter) => {
    if (adapter.unzip) return adapter.unzip(archivePath(call, source));
    throw noUnzip(call.step.id);
  });
  const plan = filesIn(call, archive).map(({ path, data }) => ({
    path: routes(checked(call, path)),
    data,
  }));
  const overwrite = fieldOf(call, "overwrite") !== false;
  const files: string[] = [];
  const skipped: string[] = [];
  for (const { path, data } of plan) {
    call.signal.throwIfAborted();
    const there = archivePath(call, path);
    if (!overwrite && (await ask(call, "file", (adapter) => adapter.exists(there)))) {
      skipped.push(path);
    } else {
      await call.writeFile(path, data, "overwrite");
      files.push(path);
    }
  }
  return { locals: { _result: { files, skipped } } };
}

/** Checks the files that an adapter returned for an archive. */
function filesIn(call: Call, archive: unknown): { path: string; data: Uint8Array }[] {
  const isFile = (one: unknown) =>
    isPlain(one) && typeof one.path === "string" && one.data instanceof Uint8Array;
  if (Array.isArray(archive) && archive.every(isFile)) return archive;
  throw badArchive(call.step.id);
}

/** Returns a function that maps a path in the archive to its destination. */
function routesOf(call: Call): (path: string) => string {
  const folder = typedField(call, "text", "defaultDir") ?? "";
  const routes = typedField(call, "object", "routeByExt") ?? {};
  const byEnding = new Map(
    Object.entries(routes).map(([ending, to]) => {
      if (typeof to === "string") return [ending.replace(/^\./, "").toLowerCase(), to];
      throw badRoute(call.step.id, ending);
    }),
  );
  return (path) => {
    const ending = /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
    const into = pathFromRoot(byEnding.get(ending) ?? folder).replace(/\/+$/, "");
    return into === "" ? path : `${into}/${path}`;
  };
}

function checked({ step }: Call, given: string): string {
  const path = given.replace(/^(\.\/)+/, "");
  const leadsOut = path.split(/[\\/]/).some((part) => ["", ".", ".."].includes(part));
  if (!leadsOut && !/^[A-Za-z]:/.test(path) && !path.includes("\0")) return path;
  throw unsafeArchive(step.id, path);
}
