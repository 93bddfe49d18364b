import { queryOptions } from "@tanstack/react-query";
import type { Eval, EvalRow } from "@uncaged/workflow-server/api-types";
import { pathOf, request } from "./request.ts";

/** Poll interval of a running eval, in milliseconds. Evals have no event stream. */
const readAgainMs = 2_000;

const isAtWork = ({ versions }: Pick<EvalRow, "versions">): boolean =>
  versions.some(({ started }) => started > 0);

export const evalsQuery = queryOptions({
  queryKey: ["evals"],
  queryFn: ({ signal }) => request<EvalRow[]>("/evals", { signal }),
  refetchInterval: ({ state }) => (state.data?.some(isAtWork) ? readAgainMs : false),
});

/** The filter and the maximum number of cases to show. */
export type ShownCases = { show: CaseFilter; limit: number };

export const evalQuery = (id: string, baseline: string | undefined, shown: ShownCases) =>
  queryOptions({
    queryKey: ["evals", id, baseline, shown],
    queryFn: ({ signal }) =>
      request<Eval>(pathOf("evals", id), { query: { baseline, ...shown }, signal }),
    refetchInterval: ({ state }) => (state.data && isAtWork(state.data) ? readAgainMs : false),
    // Keeps old rows while another filter or baseline of the same eval loads.
    placeholderData: (before, query) => (query?.queryKey[1] === id ? before : undefined),
  });

export const caseFilters = ["all", "worse", "better", "failing", "unscored"] as const;
export type CaseFilter = (typeof caseFilters)[number];
