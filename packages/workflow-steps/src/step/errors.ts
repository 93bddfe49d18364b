import type { WorkflowError } from "@uncaged/workflow";
import { LLMError, messageOf, typeOfStatus } from "../adapter/error.ts";
import { failure } from "../document/document.ts";

/* The errors of calling steps. The first parameter is the step's id, unless a comment says otherwise. */

/** An error of a step whose adapter is missing. */
export const noAdapter = (
  id: string,
  name: string,
  hint = `give the run the adapter ${name}`,
): WorkflowError => failure("NO_ADAPTER", `${id}: missing adapter ${JSON.stringify(name)}`, hint);

const badParams = (id: string, problem: string, hint?: string): LLMError =>
  new LLMError("bad_request", `${id}: ${problem}`, { code: "BAD_PARAMS", hint });

/** `problem` is a verb phrase, such as "is not a list". */
export const badField = (id: string, field: string, problem: string): LLMError =>
  badParams(id, `${field} ${problem}`);

export const bytesFromAPI = (id: string, api: string): LLMError =>
  badParams(id, `the response of ${api} is bytes, not text`, "fetch it with a Download step");

export const badAPIURL = (id: string): LLMError => badParams(id, "the url of its API is not text");

export const missingPathParam = (id: string, name: string): LLMError =>
  badParams(id, `missing pathParams.${name}`);

export const dotPathParam = (id: string, name: string): LLMError =>
  badParams(id, `pathParams.${name} must not be "." or ".."`);

export const badHeader = (id: string, name: string): LLMError =>
  badParams(id, `header ${name} is not a text`);

export const badAuth = (id: string): LLMError =>
  badParams(id, "the auth of its API is not a string or an object");

export const missingAuth = (id: string, name: string): LLMError =>
  badParams(id, `missing ${name} in the auth of its API`);

export const badAuthType = (id: string): LLMError =>
  badParams(id, "unknown type of the auth of its API", "use bearer, basic or header");

export const missingSource = (id: string): LLMError => badParams(id, "missing source");

export const badSourceURL = (id: string, url: string): LLMError =>
  badParams(id, `source is not an HTTP URL: ${JSON.stringify(url.slice(0, 200))}`);

export const binaryResult = (id: string, variable: string): LLMError =>
  badParams(id, `the fetched file is binary, and ${variable} needs text`, "give the step a target");

export const noUnzip = (id: string): LLMError =>
  badParams(
    id,
    "the adapter file can't unpack archives: missing unzip",
    "add the function unzip to the adapter",
  );

export const badArchive = (id: string): LLMError =>
  badParams(id, "the adapter file returned an archive that is not a list of {path, data}");

export const badRoute = (id: string, ending: string): LLMError =>
  badParams(id, `routeByExt: the folder for ${ending} is not a text`);

export const unsafeArchive = (id: string, path: string): WorkflowError =>
  failure(
    "UNZIP_OUTSIDE",
    `${id}: the archive has the path ${JSON.stringify(path.slice(0, 200))}, which leads out of its folder`,
    "check the archive; none of its files were written",
  );

export const unnamedTool = (id: string): LLMError => badParams(id, "missing name of a tool");

export const incompleteMessage = (id: string): LLMError =>
  badParams(id, "missing role or content of a message");

export const emptyMessages = (id: string): LLMError => badParams(id, "messages is an empty list");

export const emptyPrompt = (id: string): LLMError => badParams(id, "the prompt is empty");

export const badDocs = (id: string): LLMError =>
  badParams(id, "an item of docs is not a number or a text");

const badModel = (id: string, problem: string): LLMError =>
  new LLMError("bad_request", `${id}: ${problem}`, { code: "BAD_MODEL" });

export const halfModel = (id: string, model: string): LLMError =>
  badModel(id, `the model ${JSON.stringify(model)} is missing a provider or a model`);

export const emptyName = (id: string, field: string): LLMError => badModel(id, `${field} is empty`);

export const nameNotText = (id: string, field: string, type: string): LLMError =>
  badModel(id, `${field} is not a text: ${type}`);

export const noDocuments = (id: string, documents: readonly (number | string)[]): LLMError =>
  new LLMError("bad_request", `${id}: no document ${documents.join(", ")} found`, {
    code: "DOC_MISSING",
  });

export const documentNotText = (id: string, document: string): LLMError =>
  new LLMError("bad_request", `${id}: the adapter doc returned no text for document ${document}`, {
    code: "DOC_NOT_TEXT",
  });

export const noModelResult = (): LLMError =>
  new LLMError("internal_error", "the adapter llm returned no result");

/** `id` is the id of the API or the Download step. */
export const noResponse = (id: string): LLMError =>
  new LLMError("internal_error", `${id}: the adapter api returned no response`);

/** `id` is the id of the API or the Download step. */
export const failedStatus = (id: string, status: number, body: string): LLMError =>
  new LLMError(typeOfStatus(status), `${id} answered ${status}${body && `: ${body}`}`, {
    code: `HTTP_${status}`,
    status,
  });

export const unknownAPI = (id: string, api: string): WorkflowError =>
  failure(
    "API_UNKNOWN",
    `${id}: no API ${api} found in the registry`,
    `declare it in registry.apis: {"id": "${api}", "method": "GET", "url": "https://…"}`,
  );

export const unsetVariable = (id: string, name: string): LLMError =>
  new LLMError("auth_error", `${id}: the variable ${name} of its API is not set`, {
    code: "ENV_MISSING",
    hint: `set ${name} in the environment`,
  });

/** `caller` is a phrase such as "the tool x", `size` a phrase such as "a value of more than 500 levels". */
export const resultTooLarge = (caller: string, size: string): WorkflowError =>
  failure(
    "RESULT_TOO_LARGE",
    `${caller} returned ${size}`,
    "write it to a file, and return the file's path",
  );

export const resultNotJSON = (caller: string, cause: unknown): WorkflowError =>
  failure(
    "RESULT_NO_JSON",
    `${caller} returned a value that can't be written as JSON: ${messageOf(cause)}`,
    "return text, numbers, true, false, null, arrays and plain objects",
  );

/** `problem` is the error in the tool's result. */
export const toolFailed = (problem: string): WorkflowError =>
  failure(
    "TOOL_FAILED",
    problem,
    "read the tool's result, or set allowError to continue without it",
  );

const badOutputConfig = (id: string, problem: string): LLMError =>
  new LLMError("bad_request", `${id}: output_config ${problem}`, { code: "BAD_OUTPUT_CONFIG" });

export const outputConfigNotObject = (id: string): LLMError =>
  badOutputConfig(id, "is not an object");

export const twoSchemas = (id: string): LLMError =>
  badOutputConfig(id, "has a schema and a schemaRef");

export const unknownSchema = (id: string, name: unknown): LLMError =>
  badOutputConfig(id, `names an unknown schema: no ${JSON.stringify(name)} found in the registry`);

export const unknownOutputType = (id: string, type: unknown): LLMError =>
  badOutputConfig(id, `has the unknown type ${JSON.stringify(type)}`);

export const missingSchema = (id: string): LLMError =>
  badOutputConfig(id, "of type json_schema is missing a schema");

/** `start` is the beginning of the answer. */
export const answerNotObject = (start: string): LLMError =>
  new LLMError("json_parse_error", `the answer is not a JSON object: ${start}`);

/** `start` is the beginning of the answer. */
export const answerNotJSON = (start: string): LLMError =>
  new LLMError("json_parse_error", `the answer is not valid JSON: ${start}`);

export const schemaMismatch = (problems: readonly string[]): LLMError =>
  new LLMError(
    "schema_validation_error",
    `the answer does not fit its schema: ${problems.join("; ")}`,
  );

export const badSchema = (cause: unknown): LLMError =>
  new LLMError("bad_request", `invalid schema of the answer: ${messageOf(cause)}`, {
    code: "BAD_SCHEMA",
  });
