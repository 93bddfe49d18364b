import { queryOptions } from "@tanstack/react-query";
import type { Eval, EvalRow } from "@uncaged/workflow-server/api-types";
import { pathOf, request } from "./request.ts";

/** What runs is read again so often: there is no stream of evals, whose threads have streams of their own. */
const readAgainMs = 2_000;

const isAtWork = ({ versions }: Pick<EvalRow, "versions">): boolean =>
  versions.some(({ started }) => started > 0);

export const evalsQuery = queryOptions({
  queryKey: ["evals"],
  queryFn: ({ signal }) => request<EvalRow[]>("/evals", { signal }),
  refetchInterval: ({ state }) => (state.data?.some(isAtWork) ? readAgainMs : false),
});

export const evalQuery = (id: string, baseline: string | undefined) =>
  queryOptions({
    queryKey: ["evals", id, baseline],
    queryFn: ({ signal }) => request<Eval>(pathOf("evals", id), { query: { baseline }, signal }),
    refetchInterval: ({ state }) => (state.data && isAtWork(state.data) ? readAgainMs : false),
    // Another baseline is of the same eval; another eval is not shown in its place.
    placeholderData: (before, query) => (query?.queryKey[1] === id ? before : undefined),
  });

/** Which cases are shown. */
export const caseFilters = ["all", "worse", "better", "failing", "unscored"] as const;
export type CaseFilter = (typeof caseFilters)[number];

type Case = Eval["cases"][number];

/** The cases that a filter leaves; `hash` is the version that is compared with the baseline. */
export function filteredCases(found: Eval, filter: CaseFilter, hash: string | null): Case[] {
  const { cases, changes } = found;
  if (filter === "all") return cases;
  if (filter === "unscored") {
    return cases.filter(({ runs }) => runs.some(({ outcome }) => outcome !== "scored"));
  }
  if (filter === "failing") return cases.filter(({ runs }) => runs.some(({ pass }) => !pass));
  const ids = new Set(
    changes.filter((one) => hash === null || one.hash === hash).flatMap((one) => one[filter]),
  );
  return cases.filter(({ id }) => ids.has(id));
}
