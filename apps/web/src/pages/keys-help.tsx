import { useQuery } from "@tanstack/react-query";
import { moment } from "../lib/format.ts";
import { serverQuery } from "../lib/workflows.ts";
import { KeysDialog } from "../ui/dialog.tsx";

const keys: [string, string][] = [
  ["/", "Search"],
  ["j  k", "Next, previous"],
  ["Enter", "Open it"],
  ["a  r", "In the inbox: to Approve, to Reject; Enter sends it"],
  ["n", "Start a thread, make a plan"],
  ["x  X", "Select a thread, select up to it"],
  ["i", "Details of a thread"],
  ["c", "Copy the id of a thread"],
  ["← →", "Fold and unfold a row of a trace"],
  ["f  r", "Fork, or rerun, from the selected row"],
  ["+  -  0", "Zoom the times of a trace"],
  ["g  t", "Go to the threads"],
  ["g  i", "Go to the inbox"],
  ["g  w", "Go to the workflows"],
  ["g  p", "Go to the plans"],
  ["g  e", "Go to the evals"],
  ["?", "These keys"],
  ["Esc", "Close a dialog or menu"],
];

/** The dialog with the keys, and facts about the server. */
export function KeysHelp({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const { data: server } = useQuery({ ...serverQuery, enabled: isOpen });
  return (
    <KeysDialog title="Keys" keys={keys} isOpen={isOpen} onClose={onClose}>
      {server && (
        <p className="wrap-anywhere">
          uncaged-workflow {server.version}, served since {moment(server.startedAt)} from{" "}
          <code>{server.root}</code>
        </p>
      )}
    </KeysDialog>
  );
}
