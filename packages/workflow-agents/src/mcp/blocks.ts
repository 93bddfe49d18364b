import type { ContentBlock, ReadResourceResult } from "@modelcontextprotocol/client";
import { kindOf, textOfContent, wordIn } from "../content/sent.ts";
import { isObject } from "../run/error.ts";

type Resource = ReadResourceResult["contents"][number];

const deepest = 8;

/** Returns valid blocks for content of any type. Notes replace invalid blocks. */
export function blocksIn(content: unknown, depth = 0): ContentBlock[] {
  if (content === undefined || content === null) return [];
  if (Array.isArray(content) && depth < deepest) {
    return content.flatMap((one) => blocksIn(one, depth + 1));
  }
  return [isObject(content) ? blockIn(content) : text(shownOf(content))];
}

function blockIn(block: Record<string, unknown>): ContentBlock {
  const { type, mimeType: given } = block;
  const mimeType = wordIn(given);
  switch (type) {
    case "text":
      return textIn(block.text);
    case "image":
    case "audio": {
      const data = base64In(block.data);
      const what = [type, mimeType].filter(Boolean).join(" ");
      if (data === null) return text(`[${what}, not shown: its data is not base64]`);
      return { type, data, mimeType };
    }
    case "resource": {
      const [resource] = resourcesIn(block.resource, "");
      return resource
        ? { type, resource }
        : text(`[resource, not shown: the resource is ${kindOf(block.resource)}]`);
    }
    case "resource_link": {
      const { uri, name, description } = block;
      const known = [uri, name].map(wordIn).filter(Boolean);
      if (known.length === 0) return text("[resource, not shown: its uri is missing]");
      return {
        ...{ type, uri: wordIn(uri), name: wordIn(name) },
        ...(typeof description === "string" && { description }),
        ...(mimeType !== "" && { mimeType }),
      };
    }
    default:
      return unknownBlock(block);
  }
}

/** Returns a note for content of an unknown type, with the text in the content. */
function unknownBlock({ type, text: said, ...others }: Record<string, unknown>): ContentBlock {
  if (type === undefined || type === null) {
    return said === undefined ? text(JSON.stringify(others)) : textIn(said);
  }
  const note = `[${wordIn(type) || "content"}, not shown: content of an unknown type]`;
  if (said === undefined || said === null || said === "") return text(note);
  return text(`${note}\n${plainText(said)}`);
}

const textIn = (value: unknown): ContentBlock => text(plainText(value));

function plainText(value: unknown): string {
  try {
    return typeof value === "object" ? textOfContent(value, "text") : shownOf(value);
  } catch {
    return shownOf(value);
  }
}

/** Returns resources with their text or bytes. A note replaces the content of a resource without either. */
export function resourcesIn(value: unknown, otherwise: string): Resource[] {
  if (typeof value === "string") return [{ uri: otherwise, text: value }];
  const list: unknown[] = Array.isArray(value) ? value : [value];
  return list.flatMap((one): Resource[] => {
    if (typeof one === "string") return [{ uri: otherwise, text: one }];
    if (!isObject(one)) return [];
    const { mimeType, text: said, blob } = one;
    const uri = wordIn(one.uri) || otherwise;
    const typed = { uri, ...(typeof mimeType === "string" && { mimeType }) };
    const data = base64In(blob);
    if (data !== null) return [{ ...typed, blob: data }];
    if (said !== undefined && said !== null) return [{ ...typed, text: shownOf(said) }];
    const problem =
      blob === undefined || blob === null ? "it has no text" : "its blob is not base64";
    return [{ ...typed, text: `[resource ${uri}, not shown: ${problem}]` }];
  });
}

/**
 * Converts base64, base64url, base64 with line breaks, or a `data:` URL to standard base64. Returns null for other
 * values.
 */
function base64In(value: unknown): string | null {
  if (typeof value !== "string") return null;
  const data = value
    .replace(/^data:[^,]*;base64,/i, "")
    .replace(/\s+/g, "")
    .replaceAll("-", "+")
    .replaceAll("_", "/")
    .replace(/=+$/, "");
  if (!/^[A-Za-z0-9+/]*$/.test(data) || data.length % 4 === 1) return null;
  return data.padEnd(Math.ceil(data.length / 4) * 4, "=");
}

const text = (said: string): ContentBlock => ({ type: "text", text: said });

const shownOf = (value: unknown): string =>
  value === undefined || value === null
    ? ""
    : typeof value === "string"
      ? value
      : (JSON.stringify(value) ?? "");
