import type { ContentBlock, ReadResourceResult } from "@modelcontextprotocol/client";
import { file, image, type Part } from "../content/part.ts";
import { isObject } from "../run/error.ts";

type Resource = ReadResourceResult["contents"][number];

/** Converts a block for a model: text, pictures and documents. A note replaces a block of another type. */
export function contentOf(block: ContentBlock): string | Part {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
      return partOr(`image ${block.mimeType}`, block.data, image);
    case "audio":
      return note(`audio ${block.mimeType}`, block.data, "audio is not supported");
    case "resource_link":
      return linkOf(block);
    case "resource":
      return resourceOf(block.resource);
  }
}

export function resourceOf(resource: Resource): string | Part {
  if ("text" in resource) return resource.text;
  const { uri, mimeType = "bytes", blob } = resource;
  const name = uri.split(/[/?#]/).findLast(Boolean);
  return partOr(`resource ${uri}, ${mimeType}`, blob, (bytes) => file(bytes, { name }));
}

/** Returns the text of a block, or a note for other content. */
export const textOf = (block: ContentBlock): string => {
  const content = contentOf(block);
  if (typeof content === "string") return content;
  const { data = "" } = block as { data?: string };
  return `[${block.type}, ${sizeOf(data)}]`;
};

/** Joins contents to the result of a tool: a string if all contents are strings, otherwise a list. */
export function joined(contents: readonly (string | Part)[]): string | (string | Part)[] {
  const some = contents.filter((one) => one !== "");
  const texts = some.filter((one) => typeof one === "string");
  return texts.length < some.length ? some : texts.join("\n");
}

function linkOf(link: ContentBlock & { type: "resource_link" }): string {
  const { uri, name, description, mimeType } = link;
  return `[resource ${[uri, name, mimeType, description].filter(Boolean).join(", ")}]`;
}

/**
 * Returns a part whose type comes from the bytes instead of the server's label, because providers refuse a wrong media
 * type. Returns a note for unsupported bytes.
 */
function partOr(what: string, data: string, make: (bytes: Buffer) => Part): string | Part {
  try {
    return make(Buffer.from(data, "base64"));
  } catch (error) {
    return note(what, data, isObject(error) ? String(error.message) : String(error));
  }
}

const note = (what: string, data: string, why: string): string =>
  `[${what}, ${sizeOf(data)}, not shown: ${why}]`;

const sizeOf = (base64: string): string => `${Math.floor((base64.length * 3) / 4)} bytes`;
