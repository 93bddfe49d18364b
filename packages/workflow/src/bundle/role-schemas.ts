import type { Bundle, Descriptor, RoleOutput } from "../contract/contract.ts";
import { isRecord, show } from "../contract/show.ts";
import { compileSchema, type Validate } from "./schema.ts";

const fitsAll: Validate = () => null;
/** Keywords that do not constrain a value. */
const annotations = new Set(["$schema", "$id", "$comment", "title", "description", "examples"]);
const longestProblem = 1000;

/** A step's breach of the descriptor: an unknown role, or a meta that does not fit the role's schema. */
export type StepViolation = { of: "role" | "meta"; problem: string };

/**
 * Checks yielded steps against the roles of a bundle's descriptor. All threads of a bundle share the compiled schemas.
 */
export class RoleSchemas {
  readonly isStrict: boolean;
  readonly #roles: Descriptor["roles"];
  /** Roles whose schemas accept every step. */
  readonly #silent = new Set<string>();
  readonly #validators = new Map<string, Validate>();
  readonly #isChecked: boolean;
  #compiling: Promise<void> | null = null;
  #isCompiled = false;

  constructor({ roles, strict }: Descriptor) {
    // A bundle added by an older version may have any value here.
    this.#roles = isRecord(roles) ? roles : {};
    this.isStrict = strict === true;
    // Without `strict`, steps are checked only if the descriptor has roles.
    this.#isChecked = this.isStrict || (strict !== false && Object.keys(this.#roles).length > 0);
    for (const [role, { schema }] of Object.entries(this.#roles)) {
      if (saysNothing(schema)) this.#silent.add(role);
    }
  }

  /**
   * Returns a step's breach of the descriptor; null without a breach, undefined when {@link compile} must be awaited
   * first. Ignores the data that durable helpers add to the meta.
   */
  violationOf({ role, meta }: RoleOutput): StepViolation | null | undefined {
    if (this.#silent.has(role)) return null;
    if (!this.#isChecked || role.startsWith("__")) return null;
    const named = Object.hasOwn(this.#roles, role) ? this.#roles[role] : undefined;
    if (named === undefined) {
      const [whole = ""] = role.split("/", 1);
      // The descriptor does not cover parts of a role, such as the steps of a child workflow.
      if (whole !== role && Object.hasOwn(this.#roles, whole)) return null;
      const names = Object.keys(this.#roles).map(show).join(", ").slice(0, longestProblem);
      const problem = `the role ${show(role)} is not in the descriptor, which names ${names || "none"}`;
      return { of: "role", problem };
    }
    const { __durable__: mark, ...own } = meta;
    // The work of the durable step threw, so there is no output to check.
    if (isRecord(mark) && mark.failure !== undefined) return null;
    if (!this.#isCompiled) return undefined;
    const problem = (this.#validators.get(role) ?? fitsAll)(own);
    if (problem === null) return null;
    return { of: "meta", problem: `the role ${show(role)}: ${problem}`.slice(0, longestProblem) };
  }

  /** Compiles the schemas, once. Ignores an invalid schema: a bundle added by an older version may have one. */
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

/** Returns whether a schema accepts every plain object, and so need not be compiled. */
function saysNothing(schema: unknown): boolean {
  if (!isRecord(schema)) return schema !== false;
  for (const key of Object.keys(schema)) {
    if (!annotations.has(key) && !(key === "type" && schema.type === "object")) return false;
  }
  return true;
}

const known = new WeakMap<Bundle, RoleSchemas>();

/** Returns the role schemas of a bundle, shared by all its threads. */
export function roleSchemasOf(bundle: Bundle): RoleSchemas {
  const schemas = known.get(bundle) ?? new RoleSchemas(bundle.descriptor);
  known.set(bundle, schemas);
  return schemas;
}

/** Resolves with a bundle, after compiling its schemas if its steps must match them. */
export async function withStrictSchemas<Loaded extends Bundle>(
  loading: Promise<Loaded>,
): Promise<Loaded> {
  const bundle = await loading;
  const schemas = roleSchemasOf(bundle);
  if (schemas.isStrict) await schemas.compile();
  return bundle;
}
