import { dirname, relative, resolve } from "node:path";
import { isWorkflowError, messageOf } from "../contract/error.ts";
import { isPlainObject, kindOf, show } from "../contract/show.ts";
import { type DocumentProblem, locatedProblems, readDocument } from "../document/document.ts";
import { readJson } from "../document/json.ts";
import { nearestName } from "../document/nearest.ts";
import { type DocumentPath, Unreadable } from "../document/text.ts";
import { checkWorkflowName } from "../contract/names.ts";
import type { RootLimits } from "../contract/spending.ts";
import { limitsProblems } from "./limits.ts";
import { projectSchema } from "./schema.ts";
import { projectInvalid } from "./errors.ts";

/** The fields of a project file. */
export type ProjectFields = {
  root?: string;
  host?: string;
  env?: string[];
  workflows?: Record<string, string>;
  limits?: RootLimits;
};

const code = "PROJECT_INVALID";
const keys = Object.keys(projectSchema.properties);

/**
 * Reads the fields of a project file, or of the object at `key`; null when the key is missing.
 * @throws WorkflowError `PROJECT_INVALID` with file, line and column.
 */
export function readFields(file: string, text: string, key?: string): ProjectFields | null {
  const value = valueOf(text);
  if (value === unreadable) return locate(file, text, []);
  const fields = key === undefined ? value : isPlainObject(value) ? value[key] : undefined;
  if (fields === undefined) return null;
  const problems = problemsOf(fields, dirname(file));
  if (problems.length === 0) return fields;
  const base = key === undefined ? [] : [key];
  const located = problems.map(({ path, message }) => ({ path: [...base, ...path], message }));
  return locate(file, text, located);
}

const unreadable = Symbol();

function valueOf(text: string): unknown {
  try {
    return readJson(text).value;
  } catch (error) {
    if (error instanceof Unreadable) return unreadable;
    throw error;
  }
}

function locate(file: string, text: string, problems: readonly DocumentProblem[]): never {
  const { positionOf } = readDocument(text, file, code);
  const details = locatedProblems(problems, file, positionOf);
  throw projectInvalid(details);
}

/** Returns all problems of a project's fields. `folder` is the project's folder. */
function problemsOf(fields: unknown, folder: string): DocumentProblem[] {
  if (!isPlainObject(fields)) return mustBe("an object", fields, []);
  const { $schema, root, host, env, workflows, limits } = fields;
  return [
    ...Object.keys(fields).flatMap(unknownKey),
    ...($schema === undefined ? [] : pathProblems($schema, ["$schema"])),
    ...(root === undefined ? [] : rootProblems(root, folder)),
    ...(host === undefined ? [] : hostProblems(host)),
    ...(env === undefined ? [] : envProblems(env)),
    ...(workflows === undefined ? [] : workflowsProblems(workflows)),
    ...(limits === undefined ? [] : limitsProblems(limits)),
    ...(limits === undefined || host === undefined ? [] : limitsElsewhere),
  ];
}

function unknownKey(key: string): DocumentProblem[] {
  if (keys.includes(key)) return [];
  const nearest = nearestName(key, keys);
  const advice = nearest === null ? `use one of: ${keys.join(", ")}` : `did you mean ${nearest}?`;
  return [{ path: [key], message: `unknown key ${show(key)}; ${advice}` }];
}

function rootProblems(root: unknown, folder: string): DocumentProblem[] {
  const problems = pathProblems(root, ["root"]);
  if (problems.length > 0) return problems;
  const [first] = relative(resolve(folder, String(root)), folder).split("/");
  if (first === "..") return [];
  const message = "the storage root can't be the project's own folder, or one above it";
  return [{ path: ["root"], message }];
}

const limitsElsewhere: DocumentProblem[] = [
  { path: ["limits"], message: "limits apply to a storage root, not to a cluster; remove them" },
];

// Other faults of the URL are reported when it is used.
function hostProblems(host: unknown): DocumentProblem[] {
  const isUrl =
    typeof host === "string" && new RegExp(projectSchema.properties.host.pattern).test(host);
  return isUrl
    ? []
    : mustBe(
        "the URL of a cluster, restate://host:port, or of a database, postgres://user@host/name",
        host,
        ["host"],
      );
}

function envProblems(env: unknown): DocumentProblem[] {
  if (!Array.isArray(env)) return mustBe("an array of files", env, ["env"]);
  return env.flatMap((file: unknown, index) => pathProblems(file, ["env", index]));
}

function workflowsProblems(workflows: unknown): DocumentProblem[] {
  if (!isPlainObject(workflows)) return mustBe("an object", workflows, ["workflows"]);
  return Object.entries(workflows).flatMap(([name, file]) => {
    const path = ["workflows", name];
    return [...nameProblems(name, path), ...pathProblems(file, path)];
  });
}

function nameProblems(name: string, path: DocumentPath): DocumentProblem[] {
  try {
    checkWorkflowName(name);
    return [];
  } catch (error) {
    if (!isWorkflowError(error)) throw error;
    return [{ path, message: `${messageOf(error)}: ${error.hint}` }];
  }
}

function pathProblems(value: unknown, path: DocumentPath): DocumentProblem[] {
  const isPath = typeof value === "string" && value !== "" && !value.includes("\0");
  if (!isPath) return mustBe("a path", value, path);
  const message = `${show(path.join("."))} begins with ~, which is not expanded here`;
  return /^~(\/|$)/.test(value) ? [{ path, message }] : [];
}

function mustBe(what: string, value: unknown, path: DocumentPath): DocumentProblem[] {
  const named = path.length === 0 ? "a project" : show(path.join("."));
  const found = typeof value === "string" ? show(value) : kindOf(value);
  return [{ path, message: `${named} must be ${what}, not ${found}` }];
}
