import type { RoleSchemas, StepViolation } from "../bundle/role-schemas.ts";
import type { RoleOutput } from "../contract/contract.ts";

/** Records that an attempt's step breaks the descriptor. */
type Warn = (attempt: string | undefined, payload: { role: string; problem: string }) => void;

/**
 * Checks the steps of one thread against the descriptor. A strict descriptor refuses a step before its commit;
 * otherwise a warning follows the step. Schemas are compiled at the first commit, without delaying it.
 */
export class DescriptorCheck {
  readonly #schemas: RoleSchemas;
  readonly #warn: Warn;
  /** Roles missing in the descriptor that were already reported. */
  readonly #unnamed = new Set<string>();
  #pending: Promise<void> | null = null;

  constructor(schemas: RoleSchemas, warn: Warn) {
    this.#schemas = schemas;
    this.#warn = warn;
  }

  /** Returns the reason why a step may not be committed; null if it may be committed. */
  refusal(step: RoleOutput): string | null {
    return this.#schemas.isStrict ? (this.#schemas.violationOf(step)?.problem ?? null) : null;
  }

  /** Checks a durable step of an attempt. */
  committed(step: RoleOutput, attempt: string | undefined): void {
    if (this.#schemas.isStrict) return;
    const violation = this.#schemas.violationOf(step);
    if (violation === undefined) this.#later(step, attempt);
    else if (violation !== null) this.#report(step.role, violation, attempt);
  }

  /** Resolves when all committed steps are checked; null when they are already checked. */
  settled(): Promise<void> | null {
    return this.#pending;
  }

  #later(step: RoleOutput, attempt: string | undefined): void {
    const before = this.#pending;
    const check = async () => {
      await before;
      await this.#schemas.compile();
      this.committed(step, attempt);
    };
    const pending = check().catch(() => undefined);
    this.#pending = pending;
    void pending.then(() => {
      if (this.#pending === pending) this.#pending = null;
    });
  }

  #report(role: string, { of, problem }: StepViolation, attempt: string | undefined): void {
    if (of === "role" && this.#unnamed.has(role)) return;
    if (of === "role") this.#unnamed.add(role);
    this.#warn(attempt, { role, problem });
  }
}
