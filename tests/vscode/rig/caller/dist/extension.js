// Another extension as an agent: edits through Backstitch's public API, and reports its events.
const vscode = require('vscode');

exports.activate = (context) => {
  const backstitch = vscode.extensions.getExtension('backstitch.backstitch').exports;
  const heard = [];
  context.subscriptions.push(
    backstitch.onDidCheckpoint(({ kind, prompt }) => heard.push(kind === 'turn' ? `turn ${prompt}` : kind)),
    backstitch.onDidRewind(() => vscode.window.showInformationMessage('heard of a rewind')),
    vscode.commands.registerCommand('caller.edit', async () => {
      const { document } = vscode.window.activeTextEditor;
      const uri = document.uri.toString();
      await backstitch.turnBegin({ uri, agent: 'caller', session: 's1', prompt: 'make it two' });
      const range = { start: { line: 1, character: 0 }, end: { line: 1, character: 3 } };
      const edit = { changes: { [uri]: [{ range, newText: '2' }] } };
      const { applied } = await backstitch.applyEdit({ agent: 'caller', session: 's1', label: 'insert', edit });
      await backstitch.turnEnd({ uri, agent: 'caller', session: 's1' });
      const { checkpoints } = await backstitch.timeline({ uri });
      const found = checkpoints.some(({ agent, prompt }) => agent === 'caller' && prompt === 'make it two');
      vscode.window.showInformationMessage(`version ${backstitch.version}, applied ${applied}, found ${found}: ${heard.join(', ')}`);
    }),
  );
};
