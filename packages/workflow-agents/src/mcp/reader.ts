import { kindOf, listIn, UnreadableContent, wordIn } from "../content/sent.ts";
import { type Fields, isObject } from "../run/error.ts";
import { blocksIn, resourcesIn } from "./blocks.ts";

/*
 * Reads the results of an MCP server. Each reader returns the protocol's types for any input: null counts as a missing
 * field, a single value as a list with one entry, and unusable entries are left out.
 */

/** A request to a server, and a callback for problems of its answer. */
export type Asked = {
  method: string;
  params: Fields;
  /** The cursors of the list so far. */
  cursors: ReadonlySet<unknown>;
  note: (problem: string) => void;
};

/**
 * Returns the result of a request in the protocol's types.
 * @throws UnreadableContent if no part of the result is usable.
 */
export function resultIn(result: unknown, asked: Asked): Fields {
  const read = Object.hasOwn(readers, asked.method) ? readers[asked.method] : undefined;
  return read ? { ...complete, ...read(result, asked) } : isObject(result) ? result : {};
}

// Fields that newer revisions of the protocol require in each result, and older revisions ignore.
const complete = { resultType: "complete", ttlMs: 0, cacheScope: "private" };

const readers: Record<string, (result: unknown, asked: Asked) => Fields> = {
  initialize: (result, { params }) => {
    const fields = fieldsOf(result);
    const { protocolVersion, serverInfo } = fields;
    const { name, version } = fieldsOf(serverInfo);
    return {
      protocolVersion: wordIn(protocolVersion) || params.protocolVersion,
      capabilities: capabilitiesIn(fields.capabilities),
      serverInfo: { name: wordIn(name) || "unnamed", version: wordIn(version) || "unknown" },
      ...instructionsIn(fields),
    };
  },
  "server/discover": (result) => {
    const fields = fieldsOf(result);
    const versions = listOf(fields.supportedVersions).filter((one) => typeof one === "string");
    if (versions.length === 0)
      throw new UnreadableContent("supportedVersions", "does not contain a version");
    return {
      supportedVersions: versions,
      capabilities: capabilitiesIn(fields.capabilities),
      ...instructionsIn(fields),
    };
  },
  "tools/list": (result, asked) => ({ tools: toolsIn(result, asked), ...cursorIn(result, asked) }),
  "tools/call": (result) => callIn(result),
  "resources/list": (result, asked) => ({
    resources: described(result, "resources", "uri", asked),
    ...cursorIn(result, asked),
  }),
  "resources/templates/list": (result, asked) => ({
    resourceTemplates: described(result, "resourceTemplates", "uriTemplate", asked),
    ...cursorIn(result, asked),
  }),
  "resources/read": (result, { params }) => {
    const contents = isObject(result) && "contents" in result ? result.contents : result;
    return { contents: resourcesIn(contents, wordIn(params.uri)) };
  },
  "prompts/get": (result) => ({ messages: messagesIn(result) }),
};

/** Returns a server's capabilities. If they are missing, assumes tools, of which the server may have none. */
function capabilitiesIn(value: unknown): Fields {
  const given = fieldsOf(value);
  const names = ["prompts", "resources"].filter((name) => isOffered(given[name]));
  const hasTools = isOffered(given.tools) || (names.length === 0 && !("tools" in given));
  const listChanged = fieldsOf(given.tools).listChanged === true && { listChanged: true };
  return {
    ...Object.fromEntries(names.map((name) => [name, {}])),
    ...((hasTools || "tools" in given) && { tools: { ...listChanged } }),
  };
}

const isOffered = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== false;

const instructionsIn = ({ instructions }: Fields): Fields =>
  typeof instructions === "string" ? { instructions } : {};

/**
 * Returns the cursor of the next page, unless an earlier page had the same cursor, because such a list would have no
 * end.
 */
function cursorIn(result: unknown, { cursors }: Asked): Fields {
  const { nextCursor } = fieldsOf(result);
  const isNext = typeof nextCursor === "string" && nextCursor !== "";
  return isNext && !cursors.has(nextCursor) ? { nextCursor } : {};
}

function toolsIn(result: unknown, { note }: Asked): Fields[] {
  const tools = entriesOf(result, "tools");
  return tools.flatMap((tool, at) => {
    const { name, title, description, inputSchema } = fieldsOf(tool);
    if (typeof name !== "string" || name === "") {
      note(`tool ${at + 1} of its list is left out: its name is ${kindOf(name)}`);
      return [];
    }
    if (!isObject(inputSchema)) {
      note(
        `the input schema of its tool ${name} is ${kindOf(inputSchema)}: any object is accepted`,
      );
    }
    const { properties, required, ...input } = fieldsOf(inputSchema);
    const schema = {
      ...input,
      type: "object",
      ...(isObject(properties) && { properties }),
      ...(Array.isArray(required) && { required: required.filter((one) => wordIn(one) !== "") }),
    };
    const said = wordIn(description) || wordIn(title);
    return [{ name, description: said, inputSchema: schema }];
  });
}

function described(result: unknown, field: string, key: string, { note }: Asked): Fields[] {
  return entriesOf(result, field).flatMap((entry, at) => {
    const { [key]: address, name, description, mimeType } = fieldsOf(entry);
    if (typeof address !== "string" || address === "") {
      note(`entry ${at + 1} of its ${field} is left out: its ${key} is ${kindOf(address)}`);
      return [];
    }
    const texts = Object.entries({ description, mimeType }).filter(
      ([, text]) => typeof text === "string",
    );
    return [{ [key]: address, name: wordIn(name) || address, ...Object.fromEntries(texts) }];
  });
}

/**
 * Returns the entries of a list, from a field of a result or from the result itself.
 * @throws UnreadableContent
 */
function entriesOf(result: unknown, field: string): unknown[] {
  const value = isObject(result) ? result[field] : result;
  // Some servers send an object with names as keys instead of a list.
  if (isObject(value)) return Object.values(value).filter(isObject);
  return listIn(value, `result.${field}`);
}

/** Returns a tool's answer. The tool has run, so every readable part is kept. */
function callIn(result: unknown): Fields {
  if (!isObject(result)) return { content: blocksIn(result) };
  const { content, structuredContent, isError, resultType, ...others } = result;
  const isFailed = isError === true || isError === "true";
  const blocks = blocksIn(content);
  const { _meta: _, ttlMs: __, cacheScope: ___, ...rest } = others;
  const isOther = blocks.length === 0 && !isOffered(structuredContent);
  if (resultType === "input_required" && isOther) return result;
  // The answer may have an unknown format, or be a value instead of content.
  const shown = isOther && Object.keys(rest).length > 0 ? blocksIn(JSON.stringify(rest)) : blocks;
  // Text keeps the digits that a number would round.
  const isAlone = isOffered(structuredContent) && shown.length === 0;
  return {
    content: isAlone ? blocksIn(jsonOf(structuredContent)) : shown,
    ...(isObject(structuredContent) && { structuredContent }),
    ...(isFailed && { isError: true }),
  };
}

const jsonOf = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value);

function messagesIn(result: unknown): Fields[] {
  const messages = isObject(result) && "messages" in result ? result.messages : result;
  const read = listOf(messages).flatMap((message) => {
    const { role, content = message } = isObject(message)
      ? message
      : { role: "", content: message };
    const blocks = blocksIn(content);
    return blocks.map((block) => ({
      role: role === "assistant" ? "assistant" : "user",
      content: block,
    }));
  });
  if (read.length > 0) return read;
  throw new UnreadableContent("result.messages", "is missing content");
}

const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {});

const listOf = (value: unknown): unknown[] =>
  Array.isArray(value) ? value : value === undefined || value === null ? [] : [value];
