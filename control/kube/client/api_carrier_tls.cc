// SPDX-License-Identifier: Apache-2.0
#include "control/kube/client/api_carrier_tls.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <openssl/bio.h>
#include <openssl/x509.h>
#include <boost/asio/ip/address.hpp>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "control/kube/client/api_carrier_system.h"
#include "control/kube/client/credentials_file.h"
#include "vxlan/text/printable.h"

namespace weft::kube {
namespace {

constexpr std::size_t kLongestName = 120;
constexpr std::size_t kMostNames = 8;

// Text from an untrusted certificate: escaped and limited in length.
std::string Shown(std::string_view text) { return absl::CHexEscape(text.substr(0, kLongestName)); }

// "CN=kubernetes"
std::string NameText(const X509_NAME* name) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), BIO_free);
  if (!out || X509_NAME_print_ex(out.get(), name, 0, XN_FLAG_RFC2253) < 0) return {};
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return Shown({data, static_cast<std::size_t>(size)});
}

std::string AddressText(const ASN1_OCTET_STRING& bytes) {
  const unsigned char* const data = ASN1_STRING_get0_data(&bytes);
  if (ASN1_STRING_length(&bytes) == 4) {
    boost::asio::ip::address_v4::bytes_type v4;
    std::memcpy(v4.data(), data, v4.size());
    return boost::asio::ip::make_address_v4(v4).to_string();
  }
  if (ASN1_STRING_length(&bytes) != 16) return "?";
  boost::asio::ip::address_v6::bytes_type v6;
  std::memcpy(v6.data(), data, v6.size());
  return boost::asio::ip::make_address_v6(v6).to_string();
}

// The names and addresses that the certificate is valid for.
std::string AltNames(const X509* certificate) {
  const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> all(
      static_cast<GENERAL_NAMES*>(
          X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
      GENERAL_NAMES_free);
  std::vector<std::string> names;
  for (int i = 0; i < sk_GENERAL_NAME_num(all.get()); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(all.get(), i);
    if (name->type == GEN_DNS) {
      const auto* const text = name->d.dNSName;
      names.push_back(Shown({reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                             static_cast<std::size_t>(ASN1_STRING_length(text))}));
    } else if (name->type == GEN_IPADD) {
      names.push_back(AddressText(*name->d.iPAddress));
    }
  }
  if (names.empty()) return "no name at all";
  const std::size_t all_names = names.size();
  if (all_names <= kMostNames) return absl::StrJoin(names, ", ");
  names.resize(kMostNames);
  return absl::StrCat(absl::StrJoin(names, ", "), " and ", all_names - kMostNames, " more");
}

std::string Date(const std::tm& utc) {
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &utc)};
}

std::string Date(const ASN1_TIME* time) {
  std::tm utc{};
  return ASN1_TIME_to_tm(time, &utc) == 1 ? Date(utc) : "?";
}

std::string Now() {
  ASN1_TIME* const now = X509_gmtime_adj(nullptr, 0);
  const std::string text = Date(now);
  ASN1_TIME_free(now);
  return text;
}

// The cause of `error` (X509_V_ERR_...) at `certificate` (may be null), and the next step. `name`:
// the expected name of the server; `authorities`: the source of the CAs, "the CA file /k/ca.crt".
std::string DescribeDistrust(int error, const X509* certificate, std::string_view name,
                             std::string_view authorities) {
  if (certificate == nullptr)
    return absl::StrCat("its certificate is not trusted: ", X509_verify_cert_error_string(error));
  switch (error) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return absl::StrCat("its certificate is for ", AltNames(certificate), ", not for ", name,
                          "; use one of those as its address, or set tls-server-name to one");
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return absl::StrCat("the certificate ", NameText(X509_get_subject_name(certificate)),
                          " has expired on ", Date(X509_get0_notAfter(certificate)),
                          "; renew it, or set this machine's clock, which shows ", Now());
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return absl::StrCat("the certificate ", NameText(X509_get_subject_name(certificate)),
                          " is not valid before ", Date(X509_get0_notBefore(certificate)),
                          "; set this machine's clock, which shows ", Now());
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return absl::StrCat("its certificate, issued by ",
                          NameText(X509_get_issuer_name(certificate)), ", cannot be verified with ",
                          authorities, "; is that the CA of this cluster?");
    default:
      return absl::StrCat("its certificate ", NameText(X509_get_subject_name(certificate)),
                          " is not trusted: ", X509_verify_cert_error_string(error));
  }
}

constexpr int kSessionIndex = 0;  // OpenSSL reserves this one for the application
// Bytes read from the socket at once: two records. More does not fit the cache: 900 MB cost 0.39 s
// of CPU with this value, 0.43 s without reading ahead, 0.63 s with 256 KiB.
constexpr std::size_t kReadAhead = std::size_t{34} << 10;

using Context = std::unique_ptr<SSL_CTX, SslFree>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

std::string Where(const Secret& secret, std::string_view what) {
  return secret.text.empty() ? absl::StrCat("the ", what, " file ", secret.file)
                             : absl::StrCat("the inline ", what);
}

absl::Status Unusable(const Secret& secret, std::string_view what, std::string_view why) {
  ERR_clear_error();
  return absl::InvalidArgumentError(absl::StrCat(Where(secret, what), " ", why));
}

// Prevents OpenSSL from asking for a password on the terminal.
int NoPassword(char*, int, int, void*) { return -1; }

// Walks over the PEM blocks of a text.
class PemText {
 public:
  explicit PemText(const std::string& text)
      : bio_(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free) {}
  Certificate NextCertificate() const {
    return {PEM_read_bio_X509(bio_.get(), nullptr, NoPassword, nullptr), X509_free};
  }
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> Key() const {
    return {PEM_read_bio_PrivateKey(bio_.get(), nullptr, NoPassword, nullptr), EVP_PKEY_free};
  }

 private:
  std::unique_ptr<BIO, decltype(&BIO_free)> bio_;
};

// Block by block, as in Go: a block that is no certificate, or is broken, does not affect others.
void ForEachCertificate(const std::string& text, const auto& visit) {
  constexpr std::string_view kBegin = "-----BEGIN ";
  for (std::size_t at = text.find(kBegin); at != std::string::npos;) {
    const std::size_t next = text.find(kBegin, at + 1);
    if (const Certificate each = PemText(text.substr(at, next - at)).NextCertificate())
      visit(each.get());
    at = next;
  }
}

absl::Status AddAuthorities(SSL_CTX* context, const Secret& secret) {
  if (secret.empty()) {
    AddSystemAuthorities(SSL_CTX_get_cert_store(context));
    return absl::OkStatus();
  }
  const auto text = ReadSecret(secret, "CA");
  if (!text.ok()) return text.status();
  int added = 0;
  ForEachCertificate(*text, [&](X509* each) {
    added += X509_STORE_add_cert(SSL_CTX_get_cert_store(context), each);
  });
  if (added == 0)
    return Unusable(secret, "CA", "has no PEM certificate; write the cluster's CA into it");
  return absl::OkStatus();
}

absl::Status AddClientCertificate(SSL_CTX* context, const ClusterAccess& access) {
  if (access.client_certificate.empty()) return absl::OkStatus();
  const auto certificate = ReadSecret(access.client_certificate, "client certificate");
  if (!certificate.ok()) return certificate.status();
  const auto key = ReadSecret(access.client_key, "client key");
  if (!key.ok()) return key.status();

  const PemText chain(*certificate);
  const Certificate own = chain.NextCertificate();
  if (SSL_CTX_use_certificate(context, own.get()) != 1) {  // null is refused too
    return Unusable(access.client_certificate, "client certificate",
                    "is not a PEM certificate that OpenSSL accepts; write it again");
  }
  while (const Certificate each = chain.NextCertificate())
    SSL_CTX_add1_chain_cert(context, each.get());
  const auto parsed = PemText(*key).Key();
  if (!parsed) {
    return Unusable(access.client_key, "client key",
                    "is not a PEM private key without a password; write it again");
  }
  if (SSL_CTX_use_PrivateKey(context, parsed.get()) != 1) {
    return Unusable(
        access.client_key, "client key",
        absl::StrCat("does not belong to ", Where(access.client_certificate, "client certificate"),
                     "; give the two that were made together"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Context> MakeContext(const ClusterAccess& access) {
  Context context(SSL_CTX_new(TLS_client_method()));
  if (!context) return absl::InternalError("OpenSSL cannot be set up");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_read_ahead(context.get(), 1);
  SSL_CTX_set_default_read_buffer_len(context.get(), kReadAhead);
  constexpr unsigned char kHttp1[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  SSL_CTX_set_alpn_protos(context.get(), kHttp1, sizeof kHttp1);
  if (!access.insecure_skip_tls_verify) {
    if (auto added = AddAuthorities(context.get(), access.certificate_authority); !added.ok())
      return added;
    // The end of a PEM text. If it stayed in the thread's queue, another exchange would report it.
    ERR_clear_error();
  }
  if (auto added = AddClientCertificate(context.get(), access); !added.ok()) return added;
  ERR_clear_error();  // the end of a PEM text
  return context;
}

const std::string& ServerName(const ClusterAccess& access) {
  return access.tls_server_name.empty() ? access.host : access.tls_server_name;
}

bool IsAddress(const std::string& name) {
  boost::system::error_code error;
  boost::asio::ip::make_address(name, error);
  return !error;
}

// Verifies as Go does: certificates of the CA file are trusted even if they are not self-signed,
// and a subject is not a host name. False: `name` cannot be a server's name.
bool Expect(SSL* ssl, std::string name) {
  X509_VERIFY_PARAM* const param = SSL_get0_param(ssl);
  X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_PARTIAL_CHAIN);
  X509_VERIFY_PARAM_set_hostflags(
      param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  if (IsAddress(name)) {
    const std::string without_zone = name.substr(0, name.find('%'));
    return X509_VERIFY_PARAM_set1_ip_asc(param, without_zone.c_str()) == 1;
  }
  return X509_VERIFY_PARAM_set1_host(param, name.data(), name.size()) == 1 &&
         SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data()) == 1;
}

absl::Status OldProtocol() {
  return absl::UnavailableError("it has no TLS 1.2 or newer; update it");
}

absl::Status Refused(std::string_view alert, int number) {
  switch (number) {
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_ACCESS_DENIED:
    case SSL_AD_CERTIFICATE_REQUIRED:
      return absl::UnauthenticatedError(
          absl::StrCat("it refuses our client certificate (TLS alert \"", alert,
                       "\"); give one that its client CA has signed and that is still valid"));
    case SSL_AD_PROTOCOL_VERSION:
      return OldProtocol();
    default:
      return absl::UnavailableError(
          absl::StrCat("it ended TLS with the alert \"", alert, "\"; see the server's log"));
  }
}

}  // namespace

std::vector<std::string> ClusterKeys(const ClusterAccess& access) {
  if (access.certificate_authority.empty()) return {absl::StrCat("name ", ServerName(access))};
  std::vector<std::string> keys;
  const auto text = ReadSecret(access.certificate_authority, "CA");
  if (!text.ok()) return keys;
  ForEachCertificate(*text, [&keys](const X509* each) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (X509_pubkey_digest(each, EVP_sha256(), digest, &size) != 1) return;
    keys.push_back(absl::StrCat(
        "sha256 ", absl::BytesToHexString({reinterpret_cast<const char*>(digest), size})));
  });
  ERR_clear_error();  // the end of a PEM text
  return keys;
}

absl::StatusOr<std::unique_ptr<TlsSession>> TlsSession::Make(const ClusterAccess& access) {
  auto context = MakeContext(access);
  if (!context.ok()) return context.status();
  std::unique_ptr<TlsSession> session(new TlsSession());
  session->ssl_.reset(SSL_new(context->get()));
  if (!session->ssl_) return absl::InternalError("OpenSSL cannot be set up");
  session->name_ = ServerName(access);
  session->authorities_ = access.certificate_authority.empty()
                              ? "any CA that this system trusts"
                              : Where(access.certificate_authority, "CA");
  SSL* const ssl = session->ssl_.get();
  SSL_set_ex_data(ssl, kSessionIndex, session.get());
  SSL_set_verify(ssl, access.insecure_skip_tls_verify ? SSL_VERIFY_NONE : SSL_VERIFY_PEER,
                 access.insecure_skip_tls_verify ? nullptr : &TlsSession::Judge);
  if (!Expect(ssl, session->name_)) {
    ERR_clear_error();
    return absl::InvalidArgumentError(absl::StrCat(
        "no certificate can be for ", Quoted(session->name_), "; correct tls-server-name"));
  }
  SSL_set_connect_state(ssl);
  return session;
}

int TlsSession::Judge(int trusted, X509_STORE_CTX* chain) {
  if (trusted == 1) return 1;
  auto* const ssl =
      static_cast<SSL*>(X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* const session = static_cast<TlsSession*>(SSL_get_ex_data(ssl, kSessionIndex));
  session->distrust_ =
      DescribeDistrust(X509_STORE_CTX_get_error(chain), X509_STORE_CTX_get_current_cert(chain),
                       session->name_, session->authorities_);
  return 0;
}

absl::Status TlsSession::Failure() const {
  const unsigned long first = ERR_get_error();
  ERR_clear_error();
  if (!distrust_.empty()) return absl::UnauthenticatedError(distrust_);
  const int reason = ERR_GET_REASON(first);
  if (ERR_GET_LIB(first) == ERR_LIB_SSL) {
    if (reason >= SSL_AD_REASON_OFFSET) {
      const int number = reason - SSL_AD_REASON_OFFSET;
      return Refused(SSL_alert_desc_string_long(number), number);
    }
    switch (reason) {
      case SSL_R_UNEXPECTED_EOF_WHILE_READING:
        return absl::UnavailableError("it closed the connection");
      case SSL_R_WRONG_VERSION_NUMBER:
      case SSL_R_HTTP_REQUEST:
      case SSL_R_PACKET_LENGTH_TOO_LONG:
        return absl::UnavailableError(
            "it does not answer in TLS; is this the port of \"https://\"?");
      case SSL_R_UNSUPPORTED_PROTOCOL:
        return OldProtocol();
      default:
        break;
    }
  }
  return absl::UnavailableError(absl::StrCat(
      "TLS with it fails: ", absl::NullSafeStringView(ERR_reason_error_string(first))));
}

}  // namespace weft::kube
