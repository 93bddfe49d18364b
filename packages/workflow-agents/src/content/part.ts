import { readFile, stat } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { fileEmpty, fileTooLarge, fileUnreadable, otherKind, otherMediaType } from "./errors.ts";

/** A picture or document for a model, in a message or a tool's result. {@link image} and {@link file} create parts. */
export type Part = {
  type: "image" | "document";
  title?: string;
  source:
    | { type: "base64"; media_type: string; data: string }
    | { type: "text"; media_type: "text/plain"; data: string }
    | { type: "url"; url: string }
    /** A file that is read when the model is called. */
    | { type: "path"; path: string };
};

/** The source of a picture or document: a path relative to the thread's directory, a URL, or the bytes. */
export type PartSource = string | URL | Uint8Array;

// Marks parts in a tool's result, so that look-alike objects are not parts.
const brand: unique symbol = Symbol.for("uncaged.workflow.part") as never;

export const isPart = (value: unknown): value is Part =>
  typeof value === "object" && value !== null && brand in value;

const made = (part: Part): Part => Object.assign(part, { [brand]: true });

/** The declared media type, and the name that the model reads. */
export type PartOptions = { mediaType?: string; name?: string };

/**
 * Returns a picture for a model: PNG, JPEG, GIF or WebP, of at most 5 MB.
 *
 *     const look = tool({ …, execute: async () => image(await screenshot()) });
 *
 * @throws WorkflowError `BAD_FILE` for bytes of another type: at once for bytes, or when a path is read.
 */
export const image = (source: PartSource, options: PartOptions = {}): Part =>
  partOf("image", source, options);

/**
 * Returns a document for a model: a PDF of at most 20 MB, a text, or a picture. The bytes determine the type.
 *
 *     const agent = anthropicAgent({ model, files: () => [file("report.pdf")] });
 *
 * @throws WorkflowError `BAD_FILE` for bytes of another type: at once for bytes, or when a path is read.
 */
export const file = (source: PartSource, options: PartOptions = {}): Part =>
  partOf("document", source, options);

function partOf(type: Part["type"], source: PartSource, { mediaType, name }: PartOptions): Part {
  if (source instanceof Uint8Array) return partOfBytes(type, source, { mediaType, name });
  const text = String(source);
  const inline = /^data:([^;,]*)[^,]*;base64,(.*)$/is.exec(text);
  if (inline) {
    const [, declared, data = ""] = inline;
    const bytes = Buffer.from(data, "base64");
    return partOfBytes(type, bytes, { mediaType: mediaType ?? declared, name });
  }
  const titled = type === "document" && name !== undefined && { title: name };
  if (/^https?:/i.test(text)) return made({ type, ...titled, source: { type: "url", url: text } });
  const path = text.startsWith("file:") ? decodeURIComponent(new URL(text).pathname) : text;
  return made({ type, ...titled, source: { type: "path", path } });
}

const mostBytes = { image: 5_000_000, document: 20_000_000 };

/** Returns a part with its bytes. Reads the file of a part with a path. */
export async function readPart(part: Part, cwd: string | undefined): Promise<Part> {
  const {
    type,
    source,
    title: name = source.type === "path" ? basename(source.path) : undefined,
  } = part;
  if (source.type !== "path") return part;
  const path = cwd === undefined ? source.path : resolve(cwd, source.path);
  try {
    // Do not read a file that is too large.
    checkSize(type, (await stat(path)).size, source.path);
    return partOfBytes(type, await readFile(path), { name });
  } catch (error) {
    if ((error as { code?: string }).code === "BAD_FILE") throw error;
    const why = error instanceof Error ? error.message.split(",")[0] : String(error);
    throw fileUnreadable(source.path, why ?? "");
  }
}

function partOfBytes(
  type: Part["type"],
  bytes: Uint8Array,
  { mediaType, name }: PartOptions,
): Part {
  const what = name ?? (type === "image" ? "a picture" : "a document");
  const found = mediaTypeOf(bytes);
  const own = found?.startsWith("image/") ? "image" : "document";
  checkSize(own, bytes.length, what);
  if (found === null || (type === "image" && own !== "image")) {
    const kinds = type === "image" ? "PNG, JPEG, GIF or WebP" : "PDF, picture or text";
    throw otherKind(what, kinds);
  }
  const isDeclared = mediaType === undefined || mediaType === "" || alike(mediaType, found);
  if (!isDeclared) {
    throw otherMediaType(what, mediaType, found);
  }
  const titled = own === "document" && name !== undefined && { title: name };
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const source: Part["source"] =
    found === "text/plain"
      ? { type: "text", media_type: found, data: buffer.toString("utf8") }
      : { type: "base64", media_type: found, data: buffer.toString("base64") };
  return made({ type: own, ...titled, source });
}

const alike = (declared: string, found: string): boolean =>
  declared === found ||
  (declared === "image/jpg" && found === "image/jpeg") ||
  // Text has many media types, which its bytes do not determine.
  (found === "text/plain" && !/^(image|audio|video)\/|pdf|zip|octet/.test(declared));

function checkSize(type: Part["type"], size: number, what: string): void {
  const most = mostBytes[type];
  if (size === 0) throw fileEmpty(what);
  if (size <= most) return;
  const mb = (bytes: number) => (bytes / 1e6).toFixed(1).replace(".0", "");
  throw fileTooLarge(what, mb(size), mb(most));
}

const begins = (bytes: Uint8Array, text: string, at = 0): boolean =>
  Buffer.from(text, "latin1").every((byte, n) => bytes[at + n] === byte);

/** Returns the media type of bytes, or null for types that no model accepts. */
function mediaTypeOf(bytes: Uint8Array): string | null {
  if (begins(bytes, "\x89PNG\r\n\x1a\n")) return "image/png";
  if (begins(bytes, "\xff\xd8\xff")) return "image/jpeg";
  if (begins(bytes, "GIF87a") || begins(bytes, "GIF89a")) return "image/gif";
  if (begins(bytes, "RIFF") && begins(bytes, "WEBP", 8)) return "image/webp";
  if (begins(bytes, "%PDF-")) return "application/pdf";
  if (bytes.includes(0)) return null;
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return "text/plain";
  } catch {
    return null;
  }
}

/** Returns the note that replaces a part in a text. */
export function noteOf({ type, title, source }: Part): string {
  if (source.type === "text") return `[${title ?? "text"}, ${source.data.length} characters]`;
  if (source.type !== "base64")
    return `[${type} ${source.type === "url" ? source.url : source.path}]`;
  const size =
    Math.floor((source.data.length * 3) / 4) - (source.data.match(/=+$/)?.[0].length ?? 0);
  return `[${title ?? type} ${source.media_type}, ${size} bytes]`;
}
