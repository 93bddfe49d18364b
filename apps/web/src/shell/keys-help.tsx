import { useQuery } from "@tanstack/react-query";
import { serverQuery } from "../api/workflows.ts";
import { Dialog, DialogBody } from "../controls/dialog.tsx";
import { moment } from "../format/time.ts";
import styles from "./shell.module.css";

const keys: [string, string][] = [
  ["/", "Search"],
  ["j  k", "Next, previous"],
  ["Enter", "Open it"],
  ["n", "Start a thread"],
  ["End", "To the last step"],
  ["f", "Follow a live thread, or let go"],
  ["g t", "Go to the threads"],
  ["g w", "Go to the workflows"],
  ["?", "These keys"],
  ["Esc", "Close what is open"],
];

/** The keys, told on `?`. */
export function KeysHelp({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const { data: server } = useQuery({ ...serverQuery, enabled: isOpen });
  return (
    <Dialog title="Keys" isOpen={isOpen} onClose={onClose}>
      <DialogBody>
        <dl className={styles.keys}>
          {keys.map(([key, what]) => (
            <div key={key}>
              <dt>
                {key.split(/ +/).map((one) => (
                  <kbd key={one}>{one}</kbd>
                ))}
              </dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
        {server && (
          <p className={styles.note}>
            uncaged-workflow {server.version}, served since {moment(server.startedAt)}
          </p>
        )}
      </DialogBody>
    </Dialog>
  );
}
