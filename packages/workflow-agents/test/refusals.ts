/*
 * The error messages with which the services refuse invalid requests, as in public reports. The test servers refuse the
 * same requests, so requests that pass here should pass at the services.
 */

type Fields = Record<string, unknown>;

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const listOf = (value: unknown): Fields[] => (Array.isArray(value) ? value.filter(isObject) : []);
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** The problems of a request. A service reports only the first problem. */
type Problems = Iterable<string>;
const firstOf = (problems: Problems): string | null => {
  for (const problem of problems) return problem;
  return null;
};

/** Returns whether all text in a value is well-formed Unicode, including text in JSON strings. */
function isWellFormed(value: unknown): boolean {
  if (typeof value === "string") {
    return value.isWellFormed() && !/\\ud[89ab]..(?!\\ud[c-f])/i.test(value);
  }
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([key, one]) => key.isWellFormed() && isWellFormed(one));
}

const legalName = /^[a-zA-Z0-9_-]{1,64}$/;
const isBlank = (text: unknown): boolean => textOf(text).trim() === "";

/** Returns the error of Anthropic's Messages API for a request, or null. */
export const anthropicRefusal = (body: unknown): string | null =>
  firstOf(anthropicProblems(body as Fields));

function* anthropicProblems(body: Fields): Problems {
  if (!isWellFormed(body)) {
    yield "The request body is not valid JSON: no low surrogate in string: line 1 column 4242 (char 4241)";
  }
  if (typeof body.max_tokens !== "number") yield "max_tokens: Field required";
  const messages = listOf(body.messages);
  if (messages.length === 0) yield "messages: at least one message is required";
  if (messages[0]?.role !== "user") yield 'messages: first message must use the "user" role';
  for (const { text } of listOf(body.system)) {
    if (text === "") yield "system: text content blocks must be non-empty";
    if (isBlank(text)) yield "system: text content blocks must contain non-whitespace text";
  }
  yield* anthropicTools(listOf(body.tools));
  const ids = new Set<unknown>();
  let open = new Set<unknown>();
  for (const [at, { role, content }] of messages.entries()) {
    const blocks =
      typeof content === "string" ? [{ type: "text", text: content }] : listOf(content);
    if (blocks.length === 0) {
      yield `messages.${at}: all messages must have non-empty content except for the optional final assistant message`;
    }
    const answered = new Set(blocks.map(({ tool_use_id }: Fields) => tool_use_id));
    const missing = [...open].filter((id) => !answered.has(id));
    if (missing.length > 0) {
      yield `messages.${at - 1}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`;
    }
    const before = open;
    open = new Set();
    for (const [n, block] of blocks.entries()) {
      yield* anthropicBlock(block, `messages.${at}.content.${n}`, before);
      if (block.type !== "tool_use") continue;
      if (ids.has(block.id)) yield "messages: `tool_use` ids must be unique";
      ids.add(block.id);
      open.add(block.id);
    }
    const end = blocks.at(-1);
    const isLast = at === messages.length - 1 && role === "assistant";
    if (isLast && textOf(end?.text) !== textOf(end?.text).trimEnd()) {
      yield "messages: final assistant content cannot end with trailing whitespace";
    }
  }
  if (open.size > 0) {
    yield `messages.${messages.length - 1}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${[...open].join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`;
  }
}

const fieldsOf: Record<string, string[]> = {
  text: ["text", "citations"],
  tool_use: ["id", "name", "input", "caller"],
  tool_result: ["tool_use_id", "content", "is_error"],
  thinking: ["thinking", "signature"],
};

function* anthropicBlock(block: Fields, where: string, open: Set<unknown>): Problems {
  const { type, text, content } = block;
  const known = fieldsOf[String(type)];
  const extra = Object.keys(block).find(
    (key) => known && !["type", "cache_control", ...known].includes(key),
  );
  if (extra !== undefined)
    yield `${where}.${String(type)}.${extra}: Extra inputs are not permitted`;
  if (type === "text") {
    if (text === "") yield "messages: text content blocks must be non-empty";
    if (isBlank(text)) yield "messages: text content blocks must contain non-whitespace text";
  }
  if (type === "tool_use") {
    if (!/^[a-zA-Z0-9_-]+$/.test(textOf(block.id))) {
      yield `${where}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`;
    }
    if (!/^[a-zA-Z0-9_-]{1,128}$/.test(textOf(block.name))) {
      yield `${where}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`;
    }
    if (!isObject(block.input)) yield `${where}.tool_use.input: Input should be a valid dictionary`;
  }
  if (type === "thinking" && typeof block.signature !== "string") {
    yield `${where}.thinking.signature: Field required`;
  }
  if (type !== "tool_result") return;
  if (!open.has(block.tool_use_id)) {
    yield `${where}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${String(block.tool_use_id)}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`;
  }
  if (
    block.is_error === true &&
    (content === "" || listOf(content).length + textOf(content).length === 0)
  ) {
    yield `${where}.tool_result: content cannot be empty if \`is_error\` is true`;
  }
  for (const one of listOf(content)) {
    if (one.type === "text" && isBlank(one.text))
      yield "messages: text content blocks must be non-empty";
  }
}

function* anthropicTools(tools: Fields[]): Problems {
  const names = tools.map(({ name }) => name);
  if (new Set(names).size < names.length) yield "tools: Tool names must be unique.";
  for (const [at, { type, name, input_schema }] of tools.entries()) {
    if (type !== undefined && type !== "custom") continue;
    const where = `tools.${at}.custom`;
    if (!/^[a-zA-Z0-9_-]{1,128}$/.test(textOf(name))) {
      yield `${where}.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`;
    }
    const schema = isObject(input_schema) ? input_schema : {};
    if (schema.type !== "object") yield `${where}.input_schema.type: Field required`;
    if (["oneOf", "allOf", "anyOf"].some((word) => word in schema)) {
      yield `${where}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level`;
    }
  }
}

/** Returns the error of OpenAI's chat completions for a request, or null. */
export const chatRefusal = (body: unknown): string | null => firstOf(chatProblems(body as Fields));

const notJson =
  "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)";

function* chatProblems(body: Fields): Problems {
  if (!isWellFormed(body)) yield notJson;
  const messages = listOf(body.messages);
  if (messages.length === 0) yield "[] is too short - 'messages'";
  for (const [at, one] of listOf(body.tools).entries()) {
    yield* functionProblems(
      (one as { function: Fields }).function,
      `tools[${at}].function`,
      "parameters",
    );
  }
  let open: string[] = [];
  for (const [at, { role, content, tool_calls, tool_call_id }] of messages.entries()) {
    const where = `messages[${at}]`;
    if (role === "tool") {
      if (!open.includes(textOf(tool_call_id))) {
        yield "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
      }
      open = open.filter((id) => id !== tool_call_id);
      continue;
    }
    if (open.length > 0) {
      yield `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${open.join(", ")}`;
    }
    const calls = listOf(tool_calls);
    const isContent = typeof content === "string" || listOf(content).length > 0;
    if (!isContent && calls.length === 0)
      yield `Invalid value for 'content': expected a string, got null.`;
    for (const [n, call] of calls.entries()) {
      const { name, arguments: json } = call.function as Fields;
      if (!legalName.test(textOf(name))) {
        yield `Invalid '${where}.tool_calls[${n}].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`;
      }
      if (textOf(call.id) === "")
        yield `Missing required parameter: '${where}.tool_calls[${n}].id'.`;
      if (typeof json !== "string")
        yield `Invalid type for '${where}.tool_calls[${n}].function.arguments': expected a string, but got an object instead.`;
      // OpenAI accepts invalid JSON here, but compatible servers parse the arguments.
      else if (!isJsonObject(json)) yield "Expecting value: line 1 column 1 (char 0)";
      open.push(textOf(call.id));
    }
  }
  if (open.length > 0) {
    yield `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${open.join(", ")}`;
  }
}

function isJsonObject(json: string): boolean {
  try {
    return isObject(JSON.parse(json));
  } catch {
    return false;
  }
}

function* functionProblems(made: Fields, where: string, key: string): Problems {
  const { name } = made;
  if (!legalName.test(textOf(name))) {
    yield `Invalid '${where}.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`;
  }
  const invalid = `Invalid schema for function '${textOf(name)}'`;
  const schema = made[key];
  if (!isObject(schema) || schema.type !== "object") {
    yield `${invalid}: schema must be a JSON Schema of 'type: "object"', got 'type: "${isObject(schema) ? textOf(schema.type) || "None" : "None"}"'.`;
    return;
  }
  const word = ["oneOf", "anyOf", "allOf", "enum", "not"].find((one) => one in schema);
  if (word !== undefined) {
    yield `${invalid}: schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.`;
  }
  yield* schemaProblems(schema, invalid, []);
}

function* schemaProblems(schema: Fields, invalid: string, path: string[]): Problems {
  const where = `In context=(${path.map((part) => `'${part}'`).join(", ")})`;
  const types = [schema.type].flat();
  if (types.includes("object") && !isObject(schema.properties)) {
    yield `${invalid}: ${where}, object schema missing properties.`;
  }
  if (types.includes("array") && schema.items === undefined && schema.prefixItems === undefined) {
    yield `${invalid}: ${where}, array schema missing items.`;
  }
  const { properties, items } = schema;
  for (const [name, one] of Object.entries(isObject(properties) ? properties : {})) {
    if (isObject(one)) yield* schemaProblems(one, invalid, [...path, "properties", name]);
    else yield `${invalid}: ${String(one)} is not of type 'object'.`;
  }
  if (isObject(items)) yield* schemaProblems(items, invalid, [...path, "items"]);
  for (const word of ["anyOf", "oneOf", "allOf"]) {
    for (const [at, one] of listOf(schema[word]).entries()) {
      yield* schemaProblems(one, invalid, [...path, word, String(at)]);
    }
  }
}

/** Returns the error of OpenAI's Responses API for a request with a conversation that it does not store, or null. */
export const responsesRefusal = (body: unknown): string | null =>
  firstOf(responsesProblems(body as Fields));

function* responsesProblems(body: Fields): Problems {
  if (!isWellFormed(body)) yield notJson;
  const input = listOf(body.input);
  if (input.length === 0) yield "Missing required parameter: 'input'.";
  for (const [at, one] of listOf(body.tools).entries()) {
    if (one.type === "function") yield* functionProblems(one, `tools[${at}]`, "parameters");
  }
  const calls = new Set<unknown>();
  const outputs = new Set(
    input.map(({ type, call_id }) => type === "function_call_output" && call_id),
  );
  for (const [at, item] of input.entries()) {
    const { type, call_id, name, arguments: json } = item;
    const id = textOf(call_id);
    if (type === "function_call_output" && !calls.has(call_id)) {
      yield `No tool call found for function call output with call_id ${id}.`;
    }
    if (type !== "function_call") continue;
    if (id === "") yield `Missing required parameter: 'input[${at}].call_id'.`;
    if (id.length > 64) {
      yield `Invalid 'input[${at}].call_id': string too long. Expected a string with maximum length 64, but got a string with length ${id.length} instead.`;
    }
    if (!legalName.test(textOf(name))) {
      yield `Invalid 'input[${at}].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`;
    }
    if (typeof json !== "string" || !isJsonObject(json)) {
      yield `Invalid type for 'input[${at}].arguments': expected a string of JSON.`;
    }
    if (calls.has(call_id))
      yield `Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`;
    calls.add(call_id);
    if (!outputs.has(call_id)) yield `No tool output found for function call ${id}.`;
  }
}
