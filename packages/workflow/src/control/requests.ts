import { messageOf, WorkflowError } from "../contract/error.ts";
import { isRecord, kindOf } from "../contract/show.ts";
import { isHash, isThreadId } from "../storage/paths.ts";
import {
  type AnswerRequest,
  engineOptions,
  type ForkRequest,
  isRounds,
  type LeaveRequest,
  type RemoveRequest,
  type ResumeRequest,
  type StartRequest,
  type WakeRequest,
} from "./control.ts";

// A bundle shares this process: what it does to JSON later must not reach a request.
const { parse } = JSON;

/** For each field, whether it may have a value, and in words which it may have. */
type Shape = Readonly<Record<string, readonly [is: (value: unknown) => boolean, what: string]>>;

const isText = (value: unknown): value is string => typeof value === "string";
const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0;
const orNone = (is: (value: unknown) => boolean) => (value: unknown) =>
  value === undefined || is(value);

function isKeep(value: unknown): boolean {
  if (!Array.isArray(value)) return isRecord(value) && isCount(value.first);
  const list: unknown[] = value;
  return list.every((n, at) => isCount(n) && (at === 0 || n > (list[at - 1] as number)));
}

// Its folder is the one option of the engine's that a starter brings.
function areOptions(value: unknown): boolean {
  if (!isRecord(value)) return false;
  for (const name of Object.keys(value)) {
    if (name === "cwd" ? !isText(value.cwd) : engineOptions.has(name)) return false;
  }
  return true;
}

const areTexts = (value: unknown): boolean => {
  if (!Array.isArray(value)) return false;
  const list: unknown[] = value;
  return list.every(isText);
};

const aThreadId = [isThreadId, "a thread id"] as const;
const aText = [isText, "a text"] as const;
const textOrNone = [orNone(isText), "a text"] as const;
const objectOrNone = [orNone(isRecord), "an object"] as const;

// Loops: a worker does this before its first step, and closures take longer when they are called for the first time.
function areVariables(env: unknown): boolean {
  if (!isRecord(env)) return false;
  for (const value of Object.values(env)) if (!isText(value)) return false;
  return true;
}

const surroundings: Shape = {
  env: [areVariables, "an object of texts"],
  secrets: [orNone(areTexts), "an array of texts"],
  durability: [orNone((given) => given === "step" || given === "os"), '"step" or "os"'],
};
const start: Shape = {
  ...surroundings,
  threadId: aThreadId,
  isGiven: [orNone((given) => typeof given === "boolean"), "true or false"],
  workflow: [(name) => isText(name) && name !== "", "a name"],
  prompt: textOrNone,
  maxRounds: [orNone(isRounds), "a number of rounds"],
  options: [orNone(areOptions), "an object of options that are not the engine's own"],
};
const input: Shape = { content: aText, meta: objectOrNone };
const fork: Shape = {
  hash: [(hash) => isText(hash) && isHash(hash), "a hash"],
  threadId: aThreadId,
  keep: [isKeep, "the ascending numbers of steps, or how many"],
};
const edit: Shape = { content: textOrNone, meta: objectOrNone };
const isFolderEnv = (value: unknown): boolean =>
  isRecord(value) && (isRecord(value.error) || areVariables(value.env));
const waking: Shape = {
  ...surroundings,
  folders: [
    (folders) => isRecord(folders) && Object.values(folders).every(isFolderEnv),
    "an object of the environments of folders",
  ],
};
const leaving: Shape = {
  to: [(to) => isRecord(to) && isText(to.id) && isText(to.name), "the id and the name of a host"],
};
const answering: Shape = {
  ...surroundings,
  question: [orNone(Number.isInteger), "a step's number"],
};
const removal: Shape = { force: [(force) => typeof force === "boolean", "true or false"] };

/** The body of a request to start a thread. @throws WorkflowError `BAD_REQUEST` (usage), as each of these. */
export function startRequest(body: string): StartRequest {
  const request = shaped(body, start) as StartRequest;
  if (request.input !== undefined) check("input", request.input, input);
  if (request.fork !== undefined) checkFork(request.fork);
  return request;
}

function checkFork(request: ForkRequest): void {
  check("fork", request, fork);
  if (request.edit !== undefined) check("fork.edit", request.edit, edit);
  if (request.input !== undefined) check("fork.input", request.input, input);
}

export const resumeRequest = (body: string): ResumeRequest =>
  shaped(body, surroundings) as ResumeRequest;

export const wakeRequest = (body: string): WakeRequest => shaped(body, waking) as WakeRequest;

export function answerRequest(body: string): AnswerRequest {
  const request = shaped(body, answering) as AnswerRequest;
  check("input", request.input, input);
  return request;
}

export const leaveRequest = (body: string): LeaveRequest => shaped(body, leaving) as LeaveRequest;

export const removeRequest = (body: string): RemoveRequest =>
  shaped(body, removal) as RemoveRequest;

function shaped(body: string, shape: Shape): unknown {
  let request: unknown;
  try {
    request = parse(body);
  } catch (error) {
    throw badRequest(`the request is no JSON: ${messageOf(error)}`);
  }
  check("the request", request, shape);
  return request;
}

function check(name: string, value: unknown, shape: Shape): void {
  if (!isRecord(value)) throw badRequest(`${name} is ${kindOf(value)}, not an object`);
  for (const [field, [is, what]] of Object.entries(shape)) {
    const given = value[field];
    if (!is(given)) throw badRequest(`${name}: ${field} is ${kindOf(given)}, not ${what}`);
  }
}

function badRequest(message: string): WorkflowError {
  const hint = "the client may be of another version than the worker";
  return WorkflowError.usage("BAD_REQUEST", message, hint);
}
