import { Page } from "../shell/page.tsx";
import { useTitle } from "../shell/shell.tsx";

/** Registers a file. */
export function AddPage() {
  useTitle("Add");
  return <Page title="Add">{null}</Page>;
}
