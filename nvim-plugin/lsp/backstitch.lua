-- What `vim.lsp.config` and `vim.lsp.enable` know the server by.
return require('backstitch.server').config()
