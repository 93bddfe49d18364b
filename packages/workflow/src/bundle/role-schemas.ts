import type { Bundle, Descriptor, RoleOutput } from "../contract/contract.ts";
import { isRecord, show } from "../contract/show.ts";
import { compileSchema, type Validate } from "./schema.ts";

const fitsAll: Validate = () => null;
/** What says nothing about a value that is known to be an object. */
const annotations = new Set(["$schema", "$id", "$comment", "title", "description", "examples"]);
const longestProblem = 1000;

/** How a step breaks the descriptor: it does not name the role, or the role's meta does not fit its schema. */
export type StepViolation = { of: "role" | "meta"; problem: string };

/**
 * What a bundle's descriptor says of its roles, as a check of the steps that it yields. The schemas are compiled once
 * for all threads of a bundle, when the first step comes that one has something to say of.
 */
export class RoleSchemas {
  readonly isStrict: boolean;
  readonly #roles: Descriptor["roles"];
  /** The roles whose schemas take every step. */
  readonly #silent = new Set<string>();
  readonly #validators = new Map<string, Validate>();
  readonly #isChecked: boolean;
  #compiling: Promise<void> | null = null;
  #isCompiled = false;

  constructor({ roles, strict }: Descriptor) {
    // A bundle that was added before descriptors were checked may hold anything there.
    this.#roles = isRecord(roles) ? roles : {};
    this.isStrict = strict === true;
    // One that names no role says nothing of any.
    this.#isChecked = this.isStrict || (strict !== false && Object.keys(this.#roles).length > 0);
    for (const [role, { schema }] of Object.entries(this.#roles)) {
      if (saysNothing(schema)) this.#silent.add(role);
    }
  }

  /**
   * How a step breaks the descriptor; null when it does not, undefined when {@link compile} must be awaited before
   * that is known. What a helper records in a step beside the role's meta is left out.
   */
  violationOf({ role, meta }: RoleOutput): StepViolation | null | undefined {
    if (this.#silent.has(role)) return null;
    if (!this.#isChecked || role.startsWith("__")) return null;
    const named = Object.hasOwn(this.#roles, role) ? this.#roles[role] : undefined;
    if (named === undefined) {
      const [whole = ""] = role.split("/", 1);
      // A part of a role, as a step of a child workflow is: the descriptor says nothing of those.
      if (whole !== role && Object.hasOwn(this.#roles, whole)) return null;
      const names = Object.keys(this.#roles).map(show).join(", ").slice(0, longestProblem);
      const problem = `the role ${show(role)} is not in the descriptor, which names ${names || "none"}`;
      return { of: "role", problem };
    }
    const { __durable__: mark, ...own } = meta;
    // The work of a durable step threw: there is no output to check.
    if (isRecord(mark) && mark.failure !== undefined) return null;
    if (!this.#isCompiled) return undefined;
    const problem = (this.#validators.get(role) ?? fitsAll)(own);
    if (problem === null) return null;
    return { of: "meta", problem: `the role ${show(role)}: ${problem}`.slice(0, longestProblem) };
  }

  /** Compiles the schemas, once. One that does not compile, in a bundle of an older version, says nothing. */
  compile(): Promise<void> {
    this.#compiling ??= this.#compile();
    return this.#compiling;
  }

  async #compile(): Promise<void> {
    for (const [role, { schema }] of Object.entries(this.#roles)) {
      if (this.#silent.has(role)) continue;
      const of = `descriptor.roles.${role}.schema`;
      const compiled = await compileSchema(schema, { name: "meta", of });
      if ("validate" in compiled) this.#validators.set(role, compiled.validate);
    }
    this.#isCompiled = true;
  }
}

/** Whether a schema takes every plain object, so that nothing need be compiled. */
function saysNothing(schema: unknown): boolean {
  if (!isRecord(schema)) return schema !== false;
  for (const key of Object.keys(schema)) {
    if (!annotations.has(key) && !(key === "type" && schema.type === "object")) return false;
  }
  return true;
}

const known = new WeakMap<Bundle, RoleSchemas>();

/** What the descriptor of a bundle says of its roles, the same for all threads of the bundle. */
export function roleSchemasOf(bundle: Bundle): RoleSchemas {
  const schemas = known.get(bundle) ?? new RoleSchemas(bundle.descriptor);
  known.set(bundle, schemas);
  return schemas;
}

/** A bundle whose schemas are ready if its steps may not be committed without them. */
export async function withStrictSchemas<Loaded extends Bundle>(
  loading: Promise<Loaded>,
): Promise<Loaded> {
  const bundle = await loading;
  const schemas = roleSchemasOf(bundle);
  if (schemas.isStrict) await schemas.compile();
  return bundle;
}
