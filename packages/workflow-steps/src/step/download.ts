import { outEntries } from "../target/out.ts";
import { answerOf } from "./api.ts";
import type { Call, Called } from "./call.ts";
import { badField, pathFromRoot, recordField, textField, timeoutField } from "./field.ts";
import { plain } from "./plain.ts";

/**
 * Fetches the URL in `source` through the API adapter. With a `target` the file is written there and
 * `_result` is `{path, size_bytes, content_type}`; without one `_result` is its text, or its bytes
 * (`Uint8Array`) when it is no text, which only a file target of `out` can take.
 */
export async function callDownload(call: Call): Promise<Called> {
  const url = urlOf(call);
  const target = textField(call, "target");
  const timeout = timeoutField(call);
  const { status, headers, data } = await answerOf(call, {
    id: call.step.id,
    method: "GET",
    url,
    headers: headersOf(call),
    bytes: true,
    ...(timeout !== undefined && { timeout }),
    signal: call.signal,
  });
  const bytes = data instanceof Uint8Array ? data : encoded(data);
  const content_type = headers["content-type"] ?? null;
  const _meta = plain({ status, headers, content_type, size_bytes: bytes.length }, "the download");
  if (target === undefined) return { locals: { _result: resultOf(call, bytes), _meta } };
  const path = pathFromRoot(target);
  await call.writeFile(path, bytes, "overwrite");
  return { locals: { _result: { path, size_bytes: bytes.length, content_type }, _meta } };
}

function resultOf(call: Call, bytes: Uint8Array): string | Uint8Array {
  const text = decoded(bytes);
  if (typeof text === "string") return text;
  const wanted = outEntries(call.step.out).find(
    ([target, value]) => target.startsWith("$") && String(value).includes("_result"),
  );
  if (!wanted) return bytes;
  throw badField(call, `what it fetched is no text for ${wanted[0]}: give it a target`);
}

function urlOf(call: Call): string {
  const source = textField(call, "source");
  if (source === undefined) throw badField(call, "it has no source");
  if (/^https?:/i.test(source) && URL.canParse(source)) return source;
  throw badField(call, `its source is no http address: ${JSON.stringify(source.slice(0, 200))}`);
}

const headersOf = (call: Call): Record<string, string> =>
  Object.fromEntries(
    Object.entries(recordField(call, "headers") ?? {}).map(([name, value]) => {
      if (typeof value === "string") return [name.toLowerCase(), value];
      throw badField(call, `its header ${name} is no text`);
    }),
  );

const encoded = (data: unknown): Uint8Array =>
  new TextEncoder().encode(typeof data === "string" ? data : JSON.stringify(data ?? ""));

function decoded(bytes: Uint8Array): string | Uint8Array {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text.includes("\0") ? bytes : text;
  } catch {
    return bytes;
  }
}
