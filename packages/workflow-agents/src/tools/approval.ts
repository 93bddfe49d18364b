import type { Duration } from "@uncaged/workflow";
import { durationMs } from "@uncaged/workflow/interpreter";
import { digest } from "../run/run.ts";
import {
  invalidApproval,
  invalidOtherwise,
  invalidWithin,
  unknownApprovalOption,
} from "./errors.ts";

/**
 * The calls of a tool that need a person's approval: all calls, or only the calls for which `when` returns true.
 * `within` is the time for the decision, unlimited by default. After this time, the call is refused, or runs with
 * `otherwise: "approve"`.
 */
export type Approval<Input = unknown> = {
  when?: (input: Input) => boolean | Promise<boolean>;
  within?: Duration;
  otherwise?: "approve" | "refuse";
};

/**
 * An {@link Approval}, or a short form: `true` for all calls, or a function for the calls for which it returns true.
 */
export type Approve<Input = unknown> =
  | true
  | NonNullable<Approval<Input>["when"]>
  | Approval<Input>;

/** A checked approval rule. Without a decision within `ms` milliseconds, `otherwise` decides. */
export type ApprovalRule = {
  ms: number | null;
  otherwise: "approve" | "refuse";
  isNeeded: (input: unknown) => Promise<boolean>;
};

/** The approval that a call needs. `problem` returns the problem of an input that a person changed, or null. */
export type NeededApproval = Pick<ApprovalRule, "ms" | "otherwise"> & {
  schema: Record<string, unknown>;
  problem: (input: unknown) => string | null;
};

/** Returns the checked rule of a tool. @throws WorkflowError `BAD_TOOL` for an invalid rule. */
export function approvalRule<Input>(tool: string, given: Approve<Input>): ApprovalRule {
  const approval: unknown =
    given === true ? {} : typeof given === "function" ? { when: given } : given;
  if (typeof approval !== "object" || approval === null) {
    throw invalidApproval(tool, given);
  }
  const { when, within, otherwise = "refuse", ...others } = approval as Approval;
  const [other] = Object.keys(others);
  if (other !== undefined) throw unknownApprovalOption(tool, other);
  if (otherwise !== "approve" && otherwise !== "refuse") {
    throw invalidOtherwise(tool, otherwise);
  }
  const ms = within === undefined ? null : durationMs(within);
  if (within !== undefined && (ms === null || ms <= 0)) {
    throw invalidWithin(tool, within);
  }
  return {
    ms,
    otherwise,
    // Any other result than false means that the call needs an approval.
    async isNeeded(input) {
      const answer: unknown = when === undefined || (await when(input));
      return answer !== false;
    },
  };
}

/** Returns the hash of a call. The hash binds an approval to one input of one tool. */
export const callHash = (tool: string, input: unknown): string =>
  digest(JSON.stringify([tool, sorted(input)]));

/** Returns a JSON value with sorted keys, so that equal values have equal text. */
function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, one]) => [key, sorted(one)]));
}
