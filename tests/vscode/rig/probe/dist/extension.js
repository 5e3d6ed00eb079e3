// Shows one of everything that an extension can show, to test the page objects without the extension under test.
const vscode = require('vscode');
const { commands, languages, window } = vscode;

const say = (text, ...buttons) => window.showInformationMessage(text, ...buttons);

async function rewind(line) {
  if (await say(`rewound to ${line}`, 'Undo')) await say('undone');
}

async function ask() {
  await say(`said ${await window.showWarningMessage('Really?', { modal: true, detail: 'It may be late.' }, 'Do it')}`);
}

function pick() {
  const box = window.createQuickPick();
  const drop = { iconPath: new vscode.ThemeIcon('trash'), tooltip: 'Drop' };
  box.title = 'Which?';
  box.items = [{ label: 'one', description: 'first', detail: 'the first of all', buttons: [drop] }, { label: 'two' }];
  box.onDidTriggerItemButton(({ item }) => say(`dropped ${item.label}`));
  box.onDidAccept(() => {
    say(`picked ${box.selectedItems[0].label}`);
    box.dispose();
  });
  box.show();
}

const lens = (line) =>
  new vscode.CodeLens(new vscode.Range(line, 0, line, 0), {
    title: `rewind of the probe · line ${line}`,
    command: 'probe.rewind',
    arguments: [line],
  });

exports.activate = ({ subscriptions }) => {
  const status = window.createStatusBarItem('probe', vscode.StatusBarAlignment.Left, 100);
  status.text = '$(history) probe: 3 checkpoints';
  status.show();
  const files = { scheme: 'file' };
  subscriptions.push(
    status,
    commands.registerCommand('probe.rewind', rewind),
    commands.registerCommand('probe.ask', ask),
    commands.registerCommand('probe.pick', pick),
    languages.registerHoverProvider(files, { provideHover: () => new vscode.Hover('a hover of the probe') }),
    languages.registerCodeLensProvider(files, { provideCodeLenses: () => [lens(0), lens(2)] }),
  );
};
