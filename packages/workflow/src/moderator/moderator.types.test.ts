// `tsc` checks this file, and reports each `@ts-expect-error` without an error.
import { expect, test } from "bun:test";
import { END } from "../contract/contract.ts";
import type { Moderator, Role, RoleStep, ThreadContext, WorkflowDefinition } from "./context.ts";
import { createRoleModerator } from "./moderator.ts";
import { type WaitResult, waitFor } from "./history.ts";

type PlannerMeta = { files: string[] };
type CoderMeta = { diff: string };
type Meta = { planner: PlannerMeta; coder: CoderMeta };

const planner: Role<PlannerMeta> = async ({ cwd }) => ({ content: "plan", meta: { files: [cwd] } });
const coder: Role<CoderMeta> = async (ctx) => ({ content: ctx.start.content, meta: { diff: "" } });

test("one type parameter types the roles and the moderator", () => {
  const run = createRoleModerator<Meta>({
    roles: { planner, coder },
    moderator: (ctx) => (ctx.steps.length === 0 ? "planner" : END),
  });
  expect(run).toBeFunction();
});

test("the type parameter is inferred from the roles", () => {
  const run = createRoleModerator({
    roles: { planner, coder },
    moderator(ctx) {
      const last = ctx.steps.at(-1);
      if (last === undefined) return "planner";
      if (last.role === "planner") {
        const files: string[] = last.meta.files;
        return files.length > 0 ? "coder" : END;
      }
      const diff: string = last.meta.diff;
      return diff === "" ? "planner" : END;
    },
  });
  expect(run).toBeFunction();
});

test("type errors do not compile", () => {
  createRoleModerator({
    roles: { planner, coder },
    // @ts-expect-error: the role does not exist
    moderator: () => "reviewer",
  });
  createRoleModerator<Meta>({
    // @ts-expect-error: the coder is missing
    roles: { planner },
    moderator: () => END,
  });
  createRoleModerator<Meta>({
    // @ts-expect-error: the role `planner` must return files, not a diff
    roles: { planner: coder, coder },
    moderator: () => END,
  });
  createRoleModerator<Meta>({
    // @ts-expect-error: `files` is not a number
    roles: { planner: async () => ({ content: "", meta: { files: 3 } }), coder },
    moderator: () => END,
  });
  createRoleModerator({
    // @ts-expect-error: a role returns content too
    roles: { planner: async () => ({ meta: {} }) },
    moderator: () => END,
  });
  createRoleModerator<Meta>({
    roles: { planner, coder },
    // @ts-expect-error: a moderator is synchronous
    moderator: async () => END,
  });
  const misread: Moderator<Meta> = (ctx) => {
    const last = ctx.steps[0];
    // @ts-expect-error: the role must be checked before its meta is read
    return last?.meta.diff === "" ? "coder" : END;
  };
  expect(misread).toBeFunction();
});

test("a role that asks is typed by its answer", () => {
  const approval: Role<WaitResult<{ approved: boolean }>> = async () => waitFor("approval");
  const run = createRoleModerator({
    roles: { planner, approval },
    moderator(ctx) {
      const last = ctx.steps.at(-1);
      if (last?.role !== "approval") return "approval";
      const approved: boolean = last.meta.value.approved;
      // @ts-expect-error: the answer does not have this key
      const other: unknown = last.meta.value.other;
      return approved && other === undefined ? END : "planner";
    },
  });
  expect(run).toBeFunction();
});

test("a whole definition type-checks with explicit types", () => {
  const definition: WorkflowDefinition<Meta> = {
    name: "solve",
    roles: { planner, coder },
    moderator: () => END,
  };
  const typed = (ctx: ThreadContext<Meta>): RoleStep<Meta> | undefined => ctx.steps[0];
  const loose = (ctx: ThreadContext): string | undefined => ctx.steps[0]?.role;
  expect(createRoleModerator(definition)).toBeFunction();
  expect([typed, loose]).toHaveLength(2);
});
